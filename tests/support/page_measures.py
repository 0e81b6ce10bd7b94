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


# Texts by the boxes of their letters; what a box around them clips, hides or scrolls away does not count.
OVERLAPS = """(() => {
  const shown = (box, e) => {
    let { left, right, top, bottom } = box;
    for (let p = e; p; p = p.parentElement) {
      const style = getComputedStyle(p);
      if (p === document.body || p === document.documentElement || style.display.startsWith("inline")) continue;
      const area = p.getBoundingClientRect();
      if (style.overflowX !== "visible") { left = Math.max(left, area.left); right = Math.min(right, area.right); }
      if (style.overflowY !== "visible") { top = Math.max(top, area.top); bottom = Math.min(bottom, area.bottom); }
    }
    return { left: Math.max(left, 0), right, top, bottom, height: box.height };
  };
  // A title that stays while its list scrolls has paper of its own, behind which the list is not seen.
  const hidden = (e, x, y) => {
    for (let p = document.elementFromPoint(x, y); p && !p.contains(e); p = p.parentElement) {
      const style = getComputedStyle(p), paper = (style.backgroundColor.match(/[\\d.]+/g) || []).map(Number);
      const stays = style.position === "sticky" || style.position === "fixed";
      if (stays && (paper.length === 3 || paper[3] > 0.9)) return true;
    }
    return false;
  };
  const texts = [], walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const node = walker.currentNode, own = node.parentElement;
    if (!node.textContent.trim() || own.closest("math, script, style, option, noscript")) continue;
    if (!own.checkVisibility({ opacityProperty: true, visibilityProperty: true })) continue;
    const range = document.createRange(); range.selectNodeContents(node);
    const clip = own.closest("details:not([open])");
    if (clip && !own.closest("summary")) continue;
    for (const box of range.getClientRects()) {
      const seen = shown(box, own);
      if (seen.right - seen.left > 1 && seen.bottom - seen.top > 1)
        texts.push([node, seen, node.textContent.trim().slice(0, 30), own]);
    }
  }
  const found = [];
  for (let i = 0; i < texts.length; i++) for (let j = 0; j < i; j++) {
    const [a, p, one, first] = texts[i], [b, q, two, second] = texts[j];
    if (a === b) continue;
    const wide = Math.min(p.right, q.right) - Math.max(p.left, q.left);
    const high = Math.min(p.bottom, q.bottom) - Math.max(p.top, q.top);
    if (wide <= 2 || high <= 0.35 * Math.min(p.height, q.height)) continue;
    const [x, y] = [Math.max(p.left, q.left) + wide / 2, Math.max(p.top, q.top) + high / 2];
    if (!hidden(first, x, y) && !hidden(second, x, y)) found.push(`${one} | ${two}`);
  }
  return found.slice(0, 10);
})()"""


def overlapping_texts(browser):
    """Pairs of texts that lie over each other."""
    return browser.ask(OVERLAPS)


# The contrast of WCAG 2 between texts and what is behind them; drawings bring a paper of their own.
FAINT = """(() => {
  const linear = (v) => (v /= 255) <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4;
  const light = (c) => { const [r, g, b] = c.map(linear);
    return 0.2126 * r + 0.7152 * g + 0.0722 * b; };
  const numbers = (text) => (text.match(/[\\d.]+/g) || []).map(Number);
  const behind = (e) => { for (let p = e; p; p = p.parentElement) {
    const c = numbers(getComputedStyle(p).backgroundColor);
    if (c.length === 3 || c[3] > 0.5) return c.slice(0, 3); } return [255, 255, 255]; };
  const found = [], walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const own = walker.currentNode.parentElement, text = walker.currentNode.textContent.trim();
    if (!text || own.closest("script, style, noscript, option, svg")) continue;
    if (!own.checkVisibility({ opacityProperty: true, visibilityProperty: true })) continue;
    const [a, b] = [numbers(getComputedStyle(own).color).slice(0, 3), behind(own)].map(light);
    const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    if (ratio < 3) found.push(`${text.slice(0, 30)} ${ratio.toFixed(1)}`);
  }
  return found.slice(0, 10);
})()"""


def faint_texts(browser):
    """Texts that are hardly darker or lighter than what is behind them, below 3 to 1."""
    return browser.ask(FAINT)
