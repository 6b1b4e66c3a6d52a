"""The backward pass of the general form: its formula, its steps, its Jacobian, and answers to homework."""
