"""What crosses a wall: states, errors, ids, records and wire formats. Standard library only; imports no other room."""
