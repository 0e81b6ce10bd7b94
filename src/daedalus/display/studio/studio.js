// The studio's page: a form of the model's values, its runs, and the viewer. It talks to its own address only.
"use strict";

const WORDS = { parameters: "Parameters", start: "Start", inputs: "Inputs" };
const PAUSE = 120; // milliseconds between questions about a run

class DaedalusStudio {
  constructor(desk, stage) {
    this.desk = desk;
    this.stage = stage;
    this.fields = [];
    this.jobs = new Map();
    this.active = null;
    this.shown = null;
    this.compared = new Set();
    this.viewer = null;
    this.ticket = 0;
    this.sending = Promise.resolve();
    this.build();
    this.load();
  }

  async ask(path, method = "GET", body = undefined) {
    const told = body === undefined ? {} : { body: JSON.stringify(body), headers: { "content-type": "application/json" } };
    let answer;
    try {
      answer = await fetch(path, { method, cache: "no-store", ...told });
    } catch {
      throw { what: "The studio does not answer.", facts: [], remedy: "start it again: daedalus studio FILE" };
    }
    const kind = answer.headers.get("content-type") || "";
    const found = kind.includes("json") ? await answer.json() : await answer.text();
    if (!answer.ok) throw found.error || { what: String(found), facts: [], remedy: "" };
    return found;
  }

  // -- the desk ---------------------------------------------------------------------------------------------------

  build() {
    this.heading = made("h1", { text: "Daedalus studio" });
    this.from = made("p", { class: "from", text: "loading the model …" });
    this.go = made("button", { class: "go", text: "Run", type: "button", disabled: "", onclick: () => this.run() });
    this.halt = made("button", { class: "halt", text: "Stop", type: "button", disabled: "", onclick: () => this.stop() });
    this.reset = made("button", { text: "Reset", type: "button", title: "the model's own values", onclick: () => this.fill() });
    this.level = made("i");
    this.status = made("p", { class: "status", role: "status" });
    this.sentence = made("p", { class: "status sentence" });
    this.error = made("div", { class: "error", role: "alert", hidden: "" });
    this.form = made("form", { onsubmit: (e) => { e.preventDefault(); this.run(); } });
    this.verdict = made("details", {}, made("summary", { text: "Verdict" }), made("div", { class: "inside", text: "after the first run" }));
    this.equations = made("details", {}, made("summary", { text: "Equations" }), made("div", { class: "inside" }));
    this.list = made("div", { class: "runs" });
    this.desk.append(this.heading, this.from,
      made("div", { class: "actions" }, this.go, this.halt, this.reset), made("div", { class: "bar" }, this.level),
      this.status, this.sentence, this.error, this.form, this.verdict, this.equations, made("h2", { text: "Runs" }), this.list);
    this.stage.append(made("p", { class: "empty", text: "This run uses the model's own values. Change values on the left and press Run." }));
  }

  async load() {
    for (;;) {
      const told = await this.ask("model").catch((error) => ({ unusable: error }));
      if (told.unusable) { this.from.textContent = told.address || ""; this.fail(told.unusable); return; }
      if (told.form) { this.model = told.form; this.address = told.address; break; }
      await wait(PAUSE);
    }
    this.heading.textContent = this.model.title;
    document.title = `${this.model.title}: studio`;
    this.from.textContent = this.address;
    this.equations.querySelector(".inside").innerHTML = this.model.equations;
    this.layOut();
    this.go.disabled = false;
    for (const job of await this.ask("jobs").catch(() => [])) this.jobs.set(job.number, job);
    this.showRuns();
    const last = [...this.jobs.values()].reverse().find((job) => job.state === "done");
    if (last) this.show(last.number);
    else if (!this.jobs.size) this.run(); // a model that was never run is run as it is written
  }

  layOut() {
    const model = this.model;
    const span = [
      this.field("span", { name: "from", unit: "s", text: model.begin, hint: "" }),
      this.field("span", { name: "to", unit: "s", text: model.end, hint: "" }),
    ];
    this.form.append(made("h2", { text: "Span" }), ...span);
    for (const group of ["parameters", "start", "inputs"]) {
      const fields = model.fields[group].map((told) => this.field(group, told));
      if (fields.length) this.form.append(made("h2", { text: WORDS[group] }), ...fields);
    }
    if (model.left_out) this.form.append(made("p", { class: "status", text: `${model.left_out} more values are not shown` }));
    this.method = made("select", {}, ...model.methods.map((name) => made("option", { value: name, text: name })));
    this.form.append(made("h2", { text: "Method" }), made("label", { class: "field" }, made("span", { text: "method" }), this.method),
      this.field("method", { name: "rtol", unit: "", text: "1e-6", hint: "" }));
    this.form.append(made("button", { type: "submit", hidden: "" }));
  }

  field(group, told) {
    const input = made("input", { type: "text", value: told.text, placeholder: told.hint, spellcheck: "false",
      "aria-label": told.name, "data-name": `${group}.${told.name}` });
    const label = made("label", { class: "field" },
      made("span", {}, told.name, made("small", { text: told.unit ? ` [${told.unit}]` : "" })), input);
    input.addEventListener("input", () => {
      label.classList.toggle("changed", input.value.trim() !== told.text);
      label.classList.remove("wrong");
    });
    this.fields.push({ group, told, input, label });
    return label;
  }

  fill(values = null) {
    for (const { group, told, input, label } of this.fields) {
      let text = told.text;
      if (values && values[group] && told.name in values[group]) text = values[group][told.name];
      if (values && group === "span") text = (told.name === "from" ? values.begin : values.end) || told.text;
      if (values && told.name === "rtol") text = values.rtol;
      input.value = text;
      label.classList.toggle("changed", text.trim() !== told.text);
      label.classList.remove("wrong");
    }
    if (this.method) this.method.value = values ? values.method : "auto";
  }

  values() {
    const found = { parameters: {}, start: {}, inputs: {}, method: this.method.value };
    for (const { group, told, input } of this.fields) {
      const text = input.value.trim();
      if (group === "span") found[told.name === "from" ? "begin" : "end"] = text;
      else if (group === "method") found.rtol = text;
      else if (text !== told.text || told.preset) { if (text) found[group][told.name] = text; }
    }
    return found;
  }

  // -- runs -------------------------------------------------------------------------------------------------------

  async run() {
    if (this.go.disabled) return;
    await this.follow(() => this.ask("run", "POST", this.values()));
  }

  async stop() {
    if (this.active !== null) await this.ask(`jobs/${this.active}/stop`, "POST", {}).catch((error) => this.fail(error));
  }

  // Begin a job and follow it to its end; of several clicks in a row the last one counts.
  async follow(begin) {
    const ticket = ++this.ticket;
    await this.sending.catch(() => null);
    if (ticket !== this.ticket) return;
    this.error.hidden = true;
    let job, seen = 0;
    try {
      this.sending = begin();
      job = await this.sending;
      this.active = job.number;
      this.halt.disabled = false;
      this.note(job);
      while (job.state === "waiting" || job.state === "running") {
        await wait(PAUSE);
        const before = job.state;
        job = await this.ask(`jobs/${job.number}`);
        if (ticket !== this.ticket || job.state !== before) this.note(job);
        if (ticket !== this.ticket) return;
        this.level.style.width = `${100 * job.share}%`;
        this.status.textContent = job.state === "waiting" ? "waiting …"
          : job.share < 1 ? `running … ${Math.round(100 * job.share)} %` : "drawing …";
        if (job.verdict) this.tellVerdict(job);
        if (job.seen > seen) { seen = job.seen; await this.look(job.number, ticket); }
      }
    } catch (error) {
      if (ticket !== this.ticket) return;
      this.fail(error);
      this.idle();
      return;
    }
    this.note(job);
    if (ticket !== this.ticket) return;
    this.idle();
    this.tell(job);
    // What was computed before a stop is shown as well.
    if (job.told.stop_reason || job.state === "done" || job.seen) await this.show(job.number);
  }

  // What a run that goes on has computed so far; one sees its newest moment until one looks elsewhere.
  async look(number, ticket) {
    const data = await this.ask(`jobs/${number}/data`);
    if (ticket !== this.ticket) return;
    const first = !this.viewer || this.viewer.job !== number;
    this.view(data, number);
    if (first) this.viewer.seek(this.viewer.end);
  }

  idle() {
    this.active = null;
    this.halt.disabled = true;
    this.level.style.width = "0";
    this.status.textContent = "";
  }

  tell(job) {
    const { told } = job;
    if (told.stop_reason) {
      const [name, drift] = Object.entries(told.drift || {}).reduce((a, b) => (b[1] > a[1] ? b : a), ["", 0]);
      this.status.textContent = `${told.stop_reason}; ${told.method}, ${told.steps} steps, ${duration(told.seconds)}`
        + (drift > 1e-12 ? `; largest drift ${drift.toExponential(1)} (${name})` : "");
    }
    if (job.error.what) this.fail(job.error);
    this.tellVerdict(job);
  }

  tellVerdict(job) {
    if (!job.verdict) return;
    this.sentence.textContent = job.sentence;
    this.verdict.querySelector(".inside").innerHTML = job.verdict;
  }

  fail(error) {
    // The field whose value is meant is marked until it is changed.
    for (const { told, label } of this.fields)
      label.classList.toggle("wrong", String(error.what || "").startsWith(`${told.name} = `));
    this.error.replaceChildren(made("b", { text: error.what || String(error) }),
      ...(error.facts || []).map((fact) => made("span", { text: `${fact}\n` })),
      ...(error.because ? [made("span", { text: `Because ${error.because}\n` })] : []),
      ...(error.remedy ? [made("span", { class: "try", text: `Try: ${error.remedy}` })] : []));
    this.error.hidden = false;
  }

  note(job) {
    this.jobs.set(job.number, job);
    this.showRuns();
  }

  showRuns() {
    const runs = [...this.jobs.values()].filter((job) => job.kind === "run").reverse();
    this.list.replaceChildren(...runs.map((job) => this.row(job)));
    if (!runs.length) this.list.append(made("p", { class: "status", text: "none yet" }));
  }

  row(job) {
    const box = made("input", { type: "checkbox", title: "compare with other runs", "aria-label": `compare ${job.label}`, onchange: () => this.compare(job.number, box.checked) });
    box.checked = this.compared.has(job.number);
    box.disabled = !job.told.stop_reason;
    const name = made("input", { class: "name", value: job.label, "aria-label": "name of the run", onchange: () => this.change(job, { label: name.value }) });
    const changed = ["parameters", "start", "inputs"].flatMap((g) => Object.entries(job.values[g]).map(([n, v]) => `${n} = ${v}`));
    const what = { done: changed.slice(0, 4).join(", ") || "as written", failed: job.error.what, stopped: job.error.what || "stopped" }[job.state] || job.state;
    const button = (text, title, onclick, pressed) => made("button", { type: "button", text, title, onclick, ...(pressed === undefined ? {} : { "aria-pressed": pressed }) });
    return made("div", { class: `run${this.shown === job.number ? " shown" : ""}`, "data-number": job.number }, box, name,
      made("div", { class: "tools" },
        button("show", "show this run and its values", () => this.show(job.number, true)),
        button("keep", "keep this run when the list is full", () => this.change(job, { kept: !job.kept }), String(job.kept)),
        button("Python", "copy the Python code of this run", (e) => this.copy(job, e.target)),
        button("×", "delete this run", () => this.forget(job))),
      made("div", { class: "what", text: what }));
  }

  async change(job, told) {
    await this.ask(`jobs/${job.number}`, "PATCH", told).then((now) => this.note(now), (error) => this.fail(error));
  }

  async forget(job) {
    await this.ask(`jobs/${job.number}`, "DELETE").catch(() => null);
    this.jobs.delete(job.number);
    this.compared.delete(job.number);
    this.showRuns();
  }

  async copy(job, button) {
    try {
      this.python = await this.ask(`jobs/${job.number}/python`);
      await navigator.clipboard.writeText(this.python);
      button.textContent = "copied";
    } catch (error) {
      // Without a clipboard the lines are shown.
      if (this.python) this.fail({ what: "Python code of this run:", facts: [this.python] });
      else this.fail(error);
    }
  }

  // -- looking ----------------------------------------------------------------------------------------------------

  async show(number, withValues = false) {
    try {
      const data = await this.ask(`jobs/${number}/data`), job = this.jobs.get(number);
      this.shown = number;
      this.compared.clear();
      if (job && job.kind === "run") this.compared.add(number);
      if (withValues && job) { this.fill(job.values); this.error.hidden = true; this.tell(job); }
      this.view(data, number);
      this.showRuns();
    } catch (error) {
      this.fail(error);
    }
  }

  async compare(number, wanted) {
    if (wanted) this.compared.add(number); else this.compared.delete(number);
    const runs = [...this.compared];
    if (runs.length < 1) return;
    await this.follow(() => this.ask("compare", "POST", { runs }).then((job) => { this.shown = null; return job; }));
    for (const run of runs) this.compared.add(run);
    this.showRuns();
  }

  view(data, number) {
    if (this.viewer && this.viewer.job === number && this.viewer.update(data)) return;
    const home = made("div", { class: "home" }), before = this.viewer;
    this.stage.replaceChildren(home);
    if (before && before.stage) { before.stage.renderer.dispose(); before.stage.renderer.forceContextLoss(); }
    this.viewer = window.daedalus = new DaedalusViewer(home, data, ready);
    this.viewer.job = number;
  }
}

function duration(seconds) {
  const [factor, unit] = seconds < 1e-3 ? [1e6, "µs"] : seconds < 1 ? [1e3, "ms"] : [1, "s"];
  return `${Number((factor * seconds).toPrecision(3))} ${unit}`;
}

function wait(milliseconds) {
  return new Promise((done) => setTimeout(done, milliseconds));
}
