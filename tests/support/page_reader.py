"""Reads a page as a browser's user does: headings, tables, ids, and what it would fetch."""

from html.parser import HTMLParser

VOID = {"meta", "link"}


class Page(HTMLParser):
    """What is in an HTML text; wrong nesting is an error."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.open: list[str] = []
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.headings: list[tuple[int, str]] = []
        self.tables: list[list[list[str]]] = []
        self.captions: list[str] = []
        self.text = ""
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))
        if tag in VOID:
            return
        self.open.append(tag)
        if tag in ("h1", "h2", "h3"):
            self.headings.append((int(tag[1]), ""))
        elif tag == "table":
            self.tables.append([])
        elif tag == "caption":
            self.captions.append("")
        elif tag == "tr":
            self.tables[-1].append([])
        elif tag in ("th", "td"):
            self.tables[-1][-1].append("")

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if "style" in self.open:
            return
        self.text += data
        if any(h in self.open for h in ("h1", "h2", "h3")):
            level, said = self.headings[-1]
            self.headings[-1] = (level, said + data)
        elif "caption" in self.open:
            self.captions[-1] += data
        elif "td" in self.open or "th" in self.open:
            self.tables[-1][-1][-1] += data

    def all(self, tag):
        return [attrs for name, attrs in self.elements if name == tag]

    def table(self, caption):
        """Return the rows of the table whose caption starts so, without its head."""
        (found,) = (
            t for c, t in zip(self.captions, self.tables, strict=True) if c.startswith(caption)
        )
        return found[1:]
