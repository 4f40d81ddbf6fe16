"""What a person types: `main` finds the command, every other module is one of them or draws its output."""
