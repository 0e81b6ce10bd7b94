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
    // The run itself stays as a pale line, and the axes stay where the sliders can move a curve. Predictions that are not
    // verified may leave them by the height of the run: of chaotic motions they grow without bound.
    const shift = (own, change, m) => change.reduce((sum, r, i) => sum + (own.first[i] ? Math.abs(r * own.first[i][m]) : 0), 0);
    for (const panel of viewer.curves.panels) {
      const drawn = this.moving.filter(({ owner }) => panel.series.some((s) => s === owner || s.values === owner.values));
      const values = drawn.flatMap((own) => [...own.base]).filter(Number.isFinite);
      const height = values.reduce((a, v) => Math.max(a, v), -Infinity) - values.reduce((a, v) => Math.min(a, v), Infinity);
      let low = Infinity, high = -Infinity;
      for (const series of panel.series) {
        const own = this.moving.find((entry) => entry.owner === series || entry.owner.values === series.values);
        if (!own) continue;
        series.ghost = own.base;
        own.base.forEach((v, m) => {
          const verified = Math.max(0, ...told.corners.map((far) => shift(own, far, m)));
          const all = shift(own, told.reach, m), room = height > 0 ? Math.min(all, Math.max(height, verified)) : all;
          if (Number.isFinite(v + room)) { low = Math.min(low, v - room); high = Math.max(high, v + room); }
        });
      }
      if (Number.isFinite(low)) panel.fixed = roomAround(low, high, 0.04);
    }
    this.inputs = told.names.map((name, k) => this.slider(name, k));
    this.note = made("span", {});
    const copy = made("button", { type: "button", text: "copy the call", onclick: () => this.copy(copy) });
    const reset = made("button", { type: "button", text: "reset", onclick: () => told.names.forEach((_, k) => this.set(k, told.values[k])) });
    root.append(copy, reset, this.note);
    this.apply();
  }

  slider(name, k) {
    const { values, reach } = this.told, low = values[k] - reach[k], high = values[k] + reach[k];
    const input = made("input", { type: "range", min: low, max: high, step: (high - low) / 400, value: values[k],
      "aria-label": name, oninput: () => this.set(k, Number(input.value)) });
    const [from, to] = this.told.trusted[k];
    const least = `${shortNumber(this.told.smallest * reach[k])} ${this.told.units[k]}`.trim();
    const why = from < to ? "" : `no verified range: even a change of ${least} is off by more than ${100 * this.told.error} %`;
    const band = made("i", { title: "verified by new runs, with the other sliders where they are" });
    const output = made("output", {});
    this.root.append(made("label", {}, made("b", { text: name }), made("span", { class: "band" }, band, input), output,
      why ? made("em", { class: "beyond", text: why }) : ""));
    return { input, output, band };
  }

  // How far slider k may go, as changes, while the others stay where they are; null where nothing is trusted.
  room(k) {
    const within = this.told.corners.filter((corner) => corner.every((far, i) => i === k || this.reaches(far, i)));
    if (!within.length) return this.change.every((d, i) => i === k || d === 0) ? [0, 0] : null;
    return [Math.min(0, ...within.map((corner) => corner[k])), Math.max(0, ...within.map((corner) => corner[k]))];
  }

  // Whether the change of slider i lies between none and the far end of a box.
  reaches(far, i) {
    const d = this.change[i], slack = 1e-9 * this.told.reach[i];
    return d >= Math.min(far, 0) - slack && d <= Math.max(far, 0) + slack;
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
    const { values, reach, corners } = this.told;
    const beyond = !d.every((own) => own === 0) && !corners.some((corner) => corner.every((far, i) => this.reaches(far, i)));
    this.inputs.forEach(({ output, band }, k) => {
      const room = this.room(k), [low, high] = room || [0, 0], slack = 1e-9 * reach[k];
      band.style.left = `${50 + (50 * low) / reach[k]}%`;
      band.style.width = `${room ? (50 * (high - low)) / reach[k] : 0}%`;
      output.textContent = `${shortNumber(values[k] + d[k])} ${this.told.units[k]}`.trim();
      output.classList.toggle("beyond", beyond && (!room || d[k] < low - slack || d[k] > high + slack));
    });
    this.note.textContent = beyond ? "beyond the verified range" : `green: verified within ${100 * this.told.error} % of a new run`
      + (this.told.order === 1 ? "; first derivatives only" : "");
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
