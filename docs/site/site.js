// What an accessibility checker (axe) found in what the theme's script makes: tests/test_docs_site.py.
const mend = () => {
  // Several landmarks without a name: these hold the button that copies a block.
  for (const nav of document.querySelectorAll("nav.md-code__nav")) nav.setAttribute("role", "presentation");
  // Who has no mouse scrolls with the keyboard.
  for (const part of document.querySelectorAll("pre > code, .md-typeset__scrollwrap")) part.tabIndex = 0;
};
new MutationObserver(mend).observe(document.body, {childList: true, subtree: true});
mend();
