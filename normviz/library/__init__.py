"""The public functions: schemes by name, arrays in any layout. `normviz` exports them."""
