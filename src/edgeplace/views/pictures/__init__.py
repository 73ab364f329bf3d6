"""Pictures that are SVG: axes, names beside marks, and what is drawn with them."""
