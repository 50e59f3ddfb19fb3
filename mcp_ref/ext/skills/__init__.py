"""Skills: folders of instructions that a server offers and a host loads; one module for each role."""
