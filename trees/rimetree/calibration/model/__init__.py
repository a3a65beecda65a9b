"""Models of the data: skies and columns, as trees and as visibilities, with earlier solutions in them."""
