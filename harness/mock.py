"""A timed interview as the candidate has it: what can be done in the room, and what the interviewer says to it.

Everything is recorded in the history before it is said, so that a crash, a closed terminal or a second terminal finds
the interview as it is. Every command gives back the words for the candidate.
"""

from __future__ import annotations

from datetime import datetime

from harness import clarify, examples, hints, outline, registry, report, stubs
from harness.answers import clean
from harness.interview import clocked, warnings
from harness.room import DEBUG, Refused, Room
from harness.source import Unreadable, read


class Mock(Room):
    """The commands of an interview."""

    def run(self) -> str:
        """Try the visible examples."""
        kata, source = self._current()
        session = self.judge.open(self.file(kata), source, kata, registry.wanted(kata))
        try:
            tried = examples.trial(session, kata)
            prints = session.prints
        finally:
            session.close()
        good = sum(not says for _, says in tried)
        self.add("run", kata=kata, right=good, of=len(tried))
        lines = []
        for example, says in tried:
            lines += [f">>> {line}" for line in (example.before + example.source).splitlines()]
            lines.append(report.indent(report.wrap(says or "as expected", report.width() - 2)))
        if prints.strip():
            lines += ["Your code printed", report.indent("\n".join(prints.strip().splitlines()[:12]))]
        return "\n".join([*lines, f"{good} of {len(tried)} visible examples as expected"])

    def ask(self, text: str) -> str:
        """A question to the interviewer."""
        kata, text = self._open(), clean(text)
        loaded = registry.kata(kata)
        found = clarify.heard(loaded, text)
        self.add("ask", kata=kata, text=text, topic=found.topic if found and found in loaded.terms else "")
        return found.answer if found else clarify.YOURS

    def assume(self, text: str) -> str:
        """An assumption said aloud: noted, and compared with the contract in the debrief."""
        kata, text = self._open(), clean(text)
        term = clarify.find(registry.kata(kata).terms, text)
        against = term is not None and clarify.contradicts(term, text)
        self.add("assume", kata=kata, text=text, topic=term.topic if term else "", against=against)
        return "Noted. I do not say whether it is right; the debrief does."

    def hint(self) -> str:
        """The next hint, aimed at the mistake that the file makes now; hints count in the scorecard."""
        kata, source = self._current()
        loaded, graded = registry.kata(kata), self.grade(kata, source)
        right = graded.verdict in ("pass", "strong")  # which a hint does not tell
        about, texts = ("", loaded.hints) if right else hints.aimed(loaded, graded)
        given = sum(did.facts["about"] == about for did in self.interview.did("hint", kata=kata))
        number = min(given + 1, len(texts))
        if given < len(texts):
            self.add("hint", kata=kata, number=number, about=about)
        return f"Hint {number} of {len(texts)}: {texts[number - 1]}"

    def submit(self) -> str:
        """Hand in the question on the table. A pass brings the next one; otherwise go on."""
        kata, source = self._current()
        self.save()
        found = self.grade(kata, source)
        core = [o for o in found.outcomes if o.level == "core"]
        passed = sum(o.outcome == "passed" for o in core)
        mistakes = [named.name for named in found.mistakes]
        self.add("submit", kata=kata, verdict=found.verdict, passed=passed, total=len(core), mistakes=mistakes)
        if found.verdict in ("pass", "strong"):
            words = f"{kata}: all {passed} core checks pass."
            return f"{words}\n\n{self._moved()}" if self.interview.current < len(self.interview.questions) else words
        if found.verdict == "broken":
            return f"{kata} could not be run: {found.says}"
        if found.outcomes and found.outcomes[0].outcome == "not started":
            return f"{kata} is still the stub."
        first = next(o.title for o in core if o.outcome != "passed")
        return f"{kata} is not right yet: {passed} of {len(core)} core checks pass. This does not hold yet: {first}."

    def next(self) -> str:
        """Leave the question on the table as it stands, and go to the next."""
        now = self.interview
        self._open()
        if now.current + 1 >= len(now.questions):
            raise Refused("this is the last question: submit it, or quit")
        self.save()
        self.add("next", kata=now.kata)
        return self._moved()

    def _moved(self) -> str:
        self.place()
        return self.question()

    def rules(self) -> str:
        """What is said at the start, about the clock above all."""
        now = self.interview
        minutes = f"{now.limit / 60:g} minute{'' if now.limit == 60 else 's'}"
        until = datetime.fromtimestamp(self.history.clock().wall + self.left).strftime("%H:%M")
        marks = [f"at {name}" for _, name in warnings(now.limit)]
        words = [
            f"You have {minutes}, until about {until}. The clock goes on when this terminal is closed or "
            "crashes, or the laptop sleeps; `kata mock resume` comes back with the right time left. "
            "Leaving does not stop it.",
            "It can be paused: `pause`, `resume`." if now.pausable else "",
            "When the time is up, your file is graded as it then stands: what is changed later does not count, and is "
            f"reported. I speak up {' and '.join([', '.join(marks[:-1]), marks[-1]] if marks[1:] else marks)}.",
        ]
        return report.wrap(" ".join(filter(None, words)), report.width())

    def question(self) -> str:
        """The question on the table, as an interviewer would put it."""
        now = self.interview
        count = f"Question {now.current + 1} of {len(now.questions)}" if len(now.questions) > 1 else "The question"
        title, *paragraphs = stubs.spoken(outline.stub(now.kata), short=True).split("\n\n")
        paragraphs += [f"{DEBUG} The contract is in the file."] if now.kata in now.planted else []
        said = "\n\n".join(report.wrap(" ".join(paragraph.split()), report.width()) for paragraph in paragraphs)
        return f"{count}: {title}\n\n{said}\n\nYour file: {report.place(self.file(now.kata), 1).rpartition(':')[0]}"

    def status(self) -> str:
        """Where the interview stands."""
        now, clock = self.interview, self.history.clock()
        if now.ended:
            return f"Interview {now.id} is over: kata debrief {now.id}"
        counts = [
            f"{len(now.did(do, kata=now.kata))} {words}"
            for do, words in (("ask", "asked"), ("assume", "assumed"), ("run", "runs"), ("hint", "hints"))
        ]
        paused = ", paused" if now.paused else ""
        return (
            f"Interview {now.id}: {clocked(now.left(clock))} left of {clocked(now.limit)}{paused}\n"
            f"Question {now.questions.index(now.kata) + 1} of {len(now.questions)}: {now.kata} ({', '.join(counts)})\n"
            f"Your file: {report.place(self.file(now.kata), 1).rpartition(':')[0]}"
        )

    def pause(self) -> str:
        """Stop the clock, where that was agreed at the start."""
        if not self.interview.pausable:
            raise Refused("this interview cannot be paused: that takes --pausable at its start")
        self._open()
        self.save()
        self.add("pause")
        return "Paused. `resume` goes on."

    def resume(self) -> str:
        """Go on after a pause."""
        if self.interview.paused:
            self.add("resume", changed=[kata for kata in self.interview.questions if self.differs(kata)])
            self.save()
        return self.status()

    def _open(self) -> str:
        now = self.interview
        if now.paused:
            raise Refused("the interview is paused: resume it first")
        if now.ended or now.current >= len(now.questions) or self.left <= 0:
            raise Refused("the interview is over")
        return now.kata

    def _current(self) -> tuple[str, bytes]:
        kata = self._open()
        try:
            return kata, read(self.file(kata))
        except Unreadable as why:
            raise Refused(f"{self.file(kata)}: {why}") from None
