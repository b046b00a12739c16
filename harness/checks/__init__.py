"""The hidden checks, one file a kata. Reading them spoils the exercise."""
