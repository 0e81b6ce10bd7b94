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


# Texts by the boxes of their letters; those that a box of their own clips or hides do not count.
OVERLAPS = """(() => {
  const texts = [], walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const node = walker.currentNode, own = node.parentElement;
    if (!node.textContent.trim() || own.closest("math, script, style, option, noscript")) continue;
    if (!own.checkVisibility({ opacityProperty: true, visibilityProperty: true })) continue;
    const range = document.createRange(); range.selectNodeContents(node);
    const clip = own.closest("details:not([open])");
    if (clip && !own.closest("summary")) continue;
    for (const box of range.getClientRects())
      if (box.width > 1 && box.height > 1) texts.push([node, box, node.textContent.trim().slice(0, 30)]);
  }
  const found = [];
  for (let i = 0; i < texts.length; i++) for (let j = 0; j < i; j++) {
    const [a, p, one] = texts[i], [b, q, two] = texts[j];
    if (a === b) continue;
    const wide = Math.min(p.right, q.right) - Math.max(p.left, q.left);
    const high = Math.min(p.bottom, q.bottom) - Math.max(p.top, q.top);
    if (wide > 2 && high > 0.35 * Math.min(p.height, q.height)) found.push(`${one} | ${two}`);
  }
  return found.slice(0, 10);
})()"""


def overlapping_texts(browser):
    """Pairs of texts that lie over each other."""
    return browser.ask(OVERLAPS)
