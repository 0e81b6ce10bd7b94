// Sliders for parameters: every curve and every track is y + Σ δ y' + ½ Σ δ δ y'', from stored derivatives.
"use strict";

class DaedalusSliders {
  constructor(root, viewer, told) {
    Object.assign(this, { root, viewer, told });
    this.change = told.values.map(() => 0);
    this.moving = [
      ...viewer.runs.flatMap((run) => run.shapes.map((shape) => [shape, "track"])),
      ...viewer.panels.flatMap((panel) => panel.series.map((series) => [series, "values"])),
    ].map(([owner, key]) => ({
      owner, key, base: owner[key].slice(),
      first: (owner.first || []).map(decoded), second: (owner.second || []).map(decoded),
    }));
    this.inputs = told.names.map((name, k) => this.slider(name, k));
    this.note = made("span", {});
    const copy = made("button", { type: "button", text: "copy the call", onclick: () => this.copy(copy) });
    const reset = made("button", { type: "button", text: "reset", onclick: () => told.names.forEach((_, k) => this.set(k, told.values[k])) });
    root.append(copy, reset, this.note);
    this.apply();
  }

  slider(name, k) {
    const { values, reach, trusted } = this.told, low = values[k] - reach[k], high = values[k] + reach[k];
    const share = (v) => (100 * (v - low)) / (high - low);
    const input = made("input", { type: "range", min: low, max: high, step: (high - low) / 400, value: values[k],
      "aria-label": name, oninput: () => this.set(k, Number(input.value)) });
    const band = made("i", { title: "trusted: checked against re-runs",
      style: `left:${share(trusted[k][0])}%;width:${share(trusted[k][1]) - share(trusted[k][0])}%` });
    const output = made("output", {});
    this.root.append(made("label", {}, made("b", { text: name }), made("span", { class: "band" }, band, input), output));
    return { input, output };
  }

  set(k, value) {
    this.change[k] = value - this.told.values[k];
    this.inputs[k].input.value = value;
    this.apply();
  }

  apply() {
    const d = this.change, n = d.length;
    for (const { owner, key, base, first, second } of this.moving) {
      if (!first.length) continue;
      const out = owner[key].length === base.length ? owner[key] : (owner[key] = base.slice());
      for (let m = 0; m < base.length; m++) {
        let v = base[m], pair = 0;
        for (let i = 0; i < n; i++) v += d[i] * first[i][m];
        for (let i = 0; i < n; i++) for (let j = i; j < n; j++, pair++) v += (i === j ? 0.5 : 1) * d[i] * d[j] * second[pair][m];
        out[m] = v;
      }
    }
    let beyond = false;
    this.inputs.forEach(({ output }, k) => {
      const value = this.told.values[k] + d[k], [low, high] = this.told.trusted[k], slack = 1e-9 * this.told.reach[k];
      const outside = value < low - slack || value > high + slack;
      beyond = beyond || outside;
      output.textContent = shortNumber(value);
      output.classList.toggle("beyond", outside);
    });
    this.note.textContent = beyond ? "beyond what re-runs confirm" : `within ${100 * this.told.error} % of re-runs`;
    this.note.classList.toggle("beyond", beyond);
    this.viewer.seek(this.viewer.now);
    this.viewer.curves.draw();
  }

  line() {
    const values = this.told.names.map((name, k) => `"${name}": ${Number((this.told.values[k] + this.change[k]).toPrecision(8))}`);
    return `${this.told.call}, parameters={${values.join(", ")}})`;
  }

  copy(button) {
    const done = () => { button.textContent = "copied"; setTimeout(() => { button.textContent = "copy the call"; }, 1200); };
    if (navigator.clipboard && window.isSecureContext) navigator.clipboard.writeText(this.line()).then(done, done);
    else {
      const area = made("textarea", { text: this.line() });
      document.body.append(area); area.select(); document.execCommand("copy"); area.remove(); done();
    }
  }
}
