"""The comparison for sizes and start times: the least that PySide6 can show, frozen the same way."""

import sys

from PySide6.QtWidgets import QApplication, QLabel

app = QApplication(sys.argv)
label = QLabel("Hello")
label.resize(1000, 700)
label.show()
sys.exit(app.exec())
