"""What every package needs and no engine owns: words for messages, files written whole, and checked records."""
