"""What can be measured in a page: elements that reach beyond it, and labels that lie over each other."""

# Elements that scroll by themselves may hold wider ones.
WIDER = """(() => {
  const wide = document.documentElement.clientWidth, found = [];
  const scrolls = (e) => { for (let p = e.parentElement; p; p = p.parentElement) {
    const x = getComputedStyle(p).overflowX, root = p === document.body || p === document.documentElement;
    if (x !== "visible" && !root) return true; } return false; };
  for (const e of document.body.querySelectorAll("*")) {
    const box = e.getBoundingClientRect();
    if (box.width && box.right > wide + 1 && !scrolls(e))
      found.push(`${e.tagName}.${e.className} ${Math.round(box.right)}`);
  }
  return found.slice(0, 10);
})()"""


def wider_than_the_page(browser):
    """Elements whose right end is outside of the page, but for those in boxes that scroll."""
    return browser.ask(WIDER)
