"""The analyses that a netlist asks for: `.op`, `.dc`, `.ac`, `.tf`, `.noise`, `.tran`, `.four` and `.meas`."""
