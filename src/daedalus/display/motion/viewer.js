// The viewer of a run: shapes in space, a time slider, and curves below with a moving cursor.
// `new DaedalusViewer(element, data)` builds everything inside the element; nothing is loaded from elsewhere.
"use strict";

const PALETTE = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#8c6d31", "#666666"];

function decoded(text) {
  const bytes = Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
  return new Float32Array(bytes.buffer);
}

function made(tag, attributes = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name === "text") node.textContent = value;
    else if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else node.setAttribute(name, value);
  }
  node.append(...children);
  return node;
}

class DaedalusViewer {
  // Buttons, slider and curves are there at once; the motion follows when `three` is, and `whole` says so.
  constructor(root, data, three = Promise.resolve()) {
    this.root = root;
    this.read(data);
    this.now = this.begin;
    this.speed = data.speed || 1;
    this.playing = false;
    this.hidden = new Set(data.hidden || []);
    this.panels = (data.panels || []).map((panel) => ({
      ...panel,
      series: panel.series.map((series) => ({ ...series, ...numbersOf(series) })),
    }));
    this.build();
    this.stage = null;
    this.curves = new DaedalusCurves(this);
    this.whole = three.then(() => {
      this.stage = this.makeStage();
      this.resized();
      this.seek(this.now);
      return this;
    });
    new ResizeObserver(() => this.resized()).observe(this.root);
    this.resized();
    this.seek(this.begin);
    const frame = (stamp) => {
      if (!this.root.isConnected) return;
      this.tick(stamp);
      requestAnimationFrame(frame);
    };
    requestAnimationFrame(frame);
  }

  // Times, which need not be equally far apart, where their axis ends, and the runs with their shapes.
  read(data) {
    this.data = data;
    this.times = decoded(data.times);
    this.begin = this.times[0];
    this.end = this.times[this.times.length - 1];
    this.until = data.until ?? this.end;
    this.runs = data.runs.map((run) => ({
      ...run,
      shapes: run.shapes.map((shape) => ({ ...shape, track: decoded(shape.track) })),
    }));
  }

  // More of the same runs; false where shapes or curves are others. Camera and switches stay as they are, and so does the
  // time, but for that of whoever was at the end.
  update(data) {
    if (outline(this.data) !== outline(data)) return false;
    const last = this.now === this.end && !this.playing;
    this.read(data);
    this.panels.forEach((panel, i) => panel.series.forEach((series, j) => {
      Object.assign(series, numbersOf(data.panels[i].series[j]));
    }));
    this.slider.max = this.times.length - 1;
    if (this.stage) this.stage.fill();
    this.curves.draw();
    this.seek(last ? this.end : this.now);
    return true;
  }

  build() {
    const data = this.data;
    this.canvas = made("canvas", { class: "dd-canvas", "aria-label": `${data.title}: motion` });
    this.slider = made("input", {
      type: "range", class: "dd-slider", min: 0, max: this.times.length - 1, step: "any", value: 0,
      "aria-label": "time",
      oninput: () => { this.pause(); this.seek(this.timeAt(Number(this.slider.value))); },
    });
    this.button = made("button", { class: "dd-play", title: "play or pause (space)", text: "▶",
      onclick: () => (this.playing ? this.pause() : this.play()) });
    this.clock = made("output", { class: "dd-clock" });
    this.pace = made("select", { class: "dd-speed", title: "speed",
      onchange: () => { this.speed = Number(this.pace.value); } });
    for (const s of [...new Set([0.02, 0.05, 0.1, 0.25, 0.5, 1, 2, 5, 10, 50, this.speed])].sort((a, b) => a - b))
      this.pace.append(made("option", { value: s, text: `${s}×` }));
    this.pace.value = this.speed;
    const views = [["3D", "free"], ["front", "front"], ["side", "side"], ["top", "top"]];
    const buttons = views.map(([text, view]) =>
      made("button", { class: "dd-view", text, onclick: () => this.stage && this.stage.look(view) }));
    buttons.push(made("button", { class: "dd-view dd-fit", text: "fit", "aria-label": "show everything (f)",
      onclick: () => this.fit() }));
    const follow = made("select", { class: "dd-follow", title: "follow a shape",
      onchange: () => {
        if (!this.stage) return;
        this.stage.followed = follow.value;
        if (!follow.value) this.stage.target.copy(this.stage.centre);
        this.seek(this.now);
      } });
    follow.append(made("option", { value: "", text: "follow nothing" }));
    const names = new Set((this.runs[0] || { shapes: [] }).shapes
      .filter((s) => ["box", "sphere", "ellipsoid", "point", "cylinder", "mesh"].includes(s.kind)).map((s) => s.name));
    for (const name of names) follow.append(made("option", { value: name, text: `follow ${name}` }));
    follow.value = data.follow || "";
    const groups = [...new Set(this.runs.flatMap((run) => run.shapes.map((s) => s.group)))]
      .filter((group) => group !== "shapes");
    const switches = groups.map((group) => {
      const box = made("input", { type: "checkbox", onchange: () => {
        if (box.checked) this.hidden.delete(group); else this.hidden.add(group);
        if (this.stage) this.stage.show();
      } });
      box.checked = !this.hidden.has(group);
      return made("label", { class: "dd-switch" }, box, ` ${group}`);
    });
    const legend = this.runs.length < 2 ? [] : this.runs.map((run) =>
      made("span", { class: "dd-run" }, made("i", { style: `background:${run.colour}` }), run.label));
    const forces = this.runs.some((run) => run.shapes.some((s) => s.kind === "force" && !s.sizes.scale));
    if (forces && this.data.reach)
      legend.push(made("span", { class: "dd-run", text: `force arrows: ${shortNumber(1 / this.data.reach.force)} N per metre` }));
    const shade = made("button", { class: "dd-view", title: "light or dark", text: "◐", onclick: () => this.shade() });
    this.scene = made("div", { class: "dd-scene" }, this.canvas,
      made("div", { class: "dd-tools" }, ...buttons, follow, ...switches, shade),
      made("div", { class: "dd-legend" }, ...legend));
    this.bar = made("div", { class: "dd-bar" }, this.button, this.slider, this.clock, this.pace);
    this.plots = made("div", { class: "dd-plots" });
    this.root.classList.add("dd-viewer");
    if (this.panels.length) this.root.classList.add("dd-with-plots");
    this.drawn = this.runs.some((run) => run.shapes.length);
    if (!this.drawn) this.root.classList.add("dd-curves-only");
    this.root.append(made("header", { class: "dd-title", text: data.title }), this.scene, this.bar, this.plots);
    this.root.tabIndex = 0;
    // Keys work at once, without a click; whoever types into a field keeps them.
    document.addEventListener("keydown", (event) => {
      if (![this.root, this.canvas, document.body].includes(event.target) || !this.root.isConnected) return;
      if (event.key === " ") { event.preventDefault(); this.playing ? this.pause() : this.play(); }
      if (event.key === "f") this.fit();
      const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
      if (step) { this.pause(); this.seek(this.timeAt(this.position(this.now) + step)); }
    });
  }

  // The whole scene and the whole time, whatever was zoomed or moved.
  fit() {
    this.curves.view = null;
    this.curves.draw();
    if (this.stage) this.stage.fit();
  }

  makeStage() {
    if (!this.drawn) return null;
    try {
      return new DaedalusStage(this);
    } catch (error) {
      this.scene.append(made("p", { class: "dd-note", text: `3D is not available (${error.message}). The curves work.` }));
      return null;
    }
  }

  dark() {
    const chosen = document.documentElement.dataset.shade;
    return chosen ? chosen === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  }

  shade() {
    document.documentElement.dataset.shade = this.dark() ? "light" : "dark";
    this.resized();
  }

  resized() {
    if (this.stage) this.stage.resized();
    if (!this.drawn) this.spread();
    this.curves.draw();
  }

  // Curves alone take the whole window, in as many columns as make their panels half as high as wide.
  spread() {
    const { clientWidth: width, clientHeight: height } = this.plots, count = this.panels.length || 1;
    const most = Math.max(1, Math.floor(width / 340));
    const columns = Math.max(1, Math.min(most, count, Math.round(Math.sqrt((count * width) / (2 * Math.max(height, 1))))));
    this.plots.style.gridTemplateColumns = `repeat(${columns}, minmax(0, 1fr))`;
  }

  timeAt(position) {
    const k = Math.max(0, Math.min(this.times.length - 1, position));
    const left = Math.min(Math.floor(k), this.times.length - 2 < 0 ? 0 : this.times.length - 2);
    const right = Math.min(left + 1, this.times.length - 1);
    return this.times[left] + (k - left) * (this.times[right] - this.times[left]);
  }

  position(time) {
    const times = this.times, sign = this.end < this.begin ? -1 : 1;
    let left = 0, right = times.length - 1;
    while (right - left > 1) {
      const middle = (left + right) >> 1;
      if (sign * times[middle] <= sign * time) left = middle; else right = middle;
    }
    if (times[right] === times[left]) return right;
    return left + Math.max(0, Math.min(1, (time - times[left]) / (times[right] - times[left])));
  }

  seek(time) {
    this.now = Math.max(Math.min(this.begin, this.end), Math.min(Math.max(this.begin, this.end), time));
    const position = this.position(this.now);
    this.slider.value = position;
    this.clock.textContent = `t = ${clockText(this.now, this.end - this.begin)} s`;
    if (this.stage) this.stage.pose(position);
    this.curves.cursor();
  }

  play() {
    if (this.now === this.end) this.seek(this.begin);
    this.playing = true;
    this.last = undefined;
    this.button.textContent = "❚❚";
  }

  pause() {
    this.playing = false;
    this.button.textContent = "▶";
  }

  tick(stamp) {
    if (this.playing) {
      const passed = this.last === undefined ? 0 : Math.min(0.1, (stamp - this.last) / 1000);
      const next = this.now + Math.sign(this.end - this.begin) * passed * this.speed;
      const over = (next - this.end) * Math.sign(this.end - this.begin) >= 0;
      this.seek(over ? this.end : next);
      if (over) this.pause();
    }
    this.last = stamp;
    if (this.stage) this.stage.render();
  }

  // The numbers that are drawn at the present time: what tests and curious readers ask for.
  row(shape, position) {
    const width = shape.width, count = shape.track.length / width;
    const k = count === 1 ? 0 : position, left = Math.min(Math.floor(k), count - 1), right = Math.min(left + 1, count - 1);
    const share = k - left, row = new Array(width);
    for (let i = 0; i < width; i++)
      row[i] = (1 - share) * shape.track[left * width + i] + share * shape.track[right * width + i];
    return row;
  }

  pose(name, run = 0, kind = null) {
    const shape = this.runs[run].shapes.find((s) => s.name === name && (kind === null || s.kind === kind));
    return shape ? this.row(shape, this.position(this.now)) : null;
  }
}

// The numbers of a curve; `least` and `most` enclose what it does between two neighbouring times, where that is more.
function numbersOf(series) {
  const bound = (text) => (text ? decoded(text) : null);
  return { values: decoded(series.values), least: bound(series.least), most: bound(series.most) };
}

// A time with as many digits as a span of this length needs.
function clockText(time, span) {
  const size = Math.abs(span) || 1;
  return size >= 1e6 || size < 1e-4 ? time.toExponential(3) : time.toFixed(Math.max(0, Math.min(8, 3 - Math.ceil(Math.log10(size)))));
}

// What a viewer is built for: the shapes and the curves of its runs by name.
function outline(data) {
  return JSON.stringify([data.runs.map((run) => [run.label, run.shapes.map((shape) => [shape.name, shape.kind, shape.width])]),
    (data.panels || []).map((panel) => [panel.label, panel.series.map((series) => series.label)])]);
}

// -- space -------------------------------------------------------------------------------------------------------

class DaedalusStage {
  constructor(viewer) {
    this.viewer = viewer;
    this.renderer = new THREE.WebGLRenderer({ canvas: viewer.canvas, antialias: true, preserveDrawingBuffer: true });
    this.camera = new THREE.PerspectiveCamera(35, 1, 1, 1);
    this.followed = viewer.data.follow || "";
    this.fill();
    this.gestures();
    this.look(viewer.data.flat ? "front" : "free");
  }

  // Build everything that is seen, in the place of what was.
  fill() {
    const data = this.viewer.data, middle = this.centre;
    if (this.scene) this.scene.traverse((object) => {
      if (object.geometry) object.geometry.dispose();
      if (object.material) object.material.dispose();
    });
    this.scene = new THREE.Scene();
    this.camera.near = data.radius * 0.01;
    this.camera.far = data.radius * 400;
    this.up = new THREE.Vector3(...data.up);
    this.camera.up.copy(this.up);
    this.centre = new THREE.Vector3(...data.centre);
    // Whoever moved away from the middle stays there.
    if (!middle || this.target.equals(middle)) this.target = this.centre.clone();
    // Two directions across `up`: where "front" and "side" look from.
    const across = Math.abs(this.up.x) < 0.9 ? new THREE.Vector3(1, 0, 0) : new THREE.Vector3(0, 1, 0);
    this.right = across.sub(this.up.clone().multiplyScalar(across.dot(this.up))).normalize();
    this.towards = this.right.clone().cross(this.up).normalize();
    this.lights();
    this.ground();
    this.objects = [];
    this.viewer.runs.forEach((run, k) => run.shapes.forEach((shape) => this.add(shape, run, k)));
    this.show();
    this.resized();
  }

  lights() {
    this.scene.add(new THREE.HemisphereLight(0xffffff, 0x8899aa, 1.6));
    const sun = new THREE.DirectionalLight(0xffffff, 1.8);
    sun.position.copy(this.up).multiplyScalar(3).add(this.towards).add(this.right.clone().multiplyScalar(0.7));
    this.scene.add(sun);
  }

  fit() {
    this.target.copy(this.centre);
    this.look(this.viewer.data.flat ? "front" : "free");
    this.distance = null;
    this.viewer.seek(this.viewer.now);
  }

  ground() {
    const data = this.viewer.data, raw = (2.4 * (data.follow ? 3 * data.unit : data.radius)) / 10;
    const decade = Math.pow(10, Math.floor(Math.log10(raw)));
    const step = [1, 2, 5, 10].map((f) => f * decade).find((s) => s >= raw * 0.999);
    this.grid = new THREE.GridHelper(20 * step, 20, 0x888888, 0x888888);
    this.grid.material.transparent = true;
    this.grid.material.opacity = 0.28;
    this.normal = data.flat ? this.towards : this.up;
    this.grid.quaternion.setFromUnitVectors(new THREE.Vector3(0, 1, 0), this.normal);
    this.scene.add(this.grid);
    this.step = step;
    this.moveGround(this.centre);
  }

  // The grid goes along with a camera that follows, in whole cells.
  moveGround(to) {
    const data = this.viewer.data, snap = (v) => Math.round(v / this.step) * this.step;
    const centre = new THREE.Vector3(snap(to.x), snap(to.y), snap(to.z)), along = centre.dot(this.normal);
    const low = data.follow ? to.dot(this.up) - 2.2 * data.unit : data.floor;
    const level = data.flat ? -0.02 * data.unit : data.follow ? Math.floor(low / this.step) * this.step : low;
    this.grid.position.copy(centre).addScaledVector(this.normal, level - along);
  }

  material(shape, run, index) {
    const several = this.viewer.runs.length > 1;
    // One rule for bodies and curves: of one run, colours tell what is what; of several, which run it is.
    const colour = several ? run.colour : shape.settings.colour || shape.paint || run.colour;
    const opacity = (shape.settings.opacity ?? 1) * (several && index > 0 ? 0.45 : 1);
    return new THREE.MeshStandardMaterial({
      color: new THREE.Color(colour), roughness: 0.55, metalness: 0.05, transparent: opacity < 1, opacity,
      side: shape.kind === "mesh" || shape.kind === "plane" ? THREE.DoubleSide : THREE.FrontSide,
    });
  }

  add(shape, run, index) {
    const unit = this.viewer.data.unit, size = shape.sizes, maker = SHAPE_MAKERS[shape.kind];
    if (!maker) return;
    const object = maker({ shape, size, unit, material: this.material(shape, run, index), viewer: this.viewer, run });
    object.userData = { shape, run: index, ...leastSize(object, shape) };
    this.scene.add(object);
    this.objects.push(object);
  }

  pose(position) {
    this.stale = true;
    for (const object of this.objects) {
      const { shape } = object.userData;
      const place = PLACERS[shape.kind] || PLACERS.pose;
      place(object, this.viewer.row(shape, position), position, this.viewer);
    }
    if (this.followed) {
      const row = this.viewer.pose(this.followed);
      if (row) this.target.set(row[0], row[1], row[2]);
      this.moveGround(this.target);
    }
  }

  show() {
    this.stale = true;
    for (const object of this.objects) object.visible = !this.viewer.hidden.has(object.userData.shape.group);
  }

  look(view) {
    this.target.copy(this.centre);
    const turn = { free: [0.65, 0.42], front: [0, 0], side: [Math.PI / 2, 0], top: [0, Math.PI / 2 - 1e-3] }[view];
    [this.azimuth, this.height] = turn;
    this.distance = this.viewer.data.follow && this.followed ? 7 * this.viewer.data.unit : null;
    if (this.followed) this.pose(this.viewer.position(this.viewer.now));
  }

  // How far away the camera has to be for all corners of the scene to be in the picture.
  fitting() {
    const { low, high } = this.viewer.data, half = Math.tan((this.camera.fov * Math.PI) / 360);
    const back = this.backwards(), right = this.up.clone().cross(back), away = [this.viewer.data.radius * 0.2];
    if (right.lengthSq() < 1e-9) right.copy(this.right);
    right.normalize();
    const up = back.clone().cross(right);
    for (let k = 0; k < 8; k++) {
      const corner = new THREE.Vector3(...[0, 1, 2].map((i) => ((k >> i) & 1 ? high : low)[i])).sub(this.centre);
      const depth = corner.dot(back);
      away.push(Math.abs(corner.dot(right)) / (half * this.camera.aspect) + depth, Math.abs(corner.dot(up)) / half + depth);
    }
    return 1.18 * Math.max(...away);
  }

  backwards() {
    const flat = Math.cos(this.height);
    return new THREE.Vector3().addScaledVector(this.towards, flat * Math.cos(this.azimuth))
      .addScaledVector(this.right, flat * Math.sin(this.azimuth)).addScaledVector(this.up, Math.sin(this.height));
  }

  gestures() {
    const canvas = this.viewer.canvas, held = new Map();
    const slide = (dx, dy) => {
      const scale = (2 * this.away() * Math.tan((this.camera.fov * Math.PI) / 360)) / canvas.clientHeight;
      const right = new THREE.Vector3().setFromMatrixColumn(this.camera.matrix, 0);
      const up = new THREE.Vector3().setFromMatrixColumn(this.camera.matrix, 1);
      this.target.addScaledVector(right, -dx * scale).addScaledVector(up, dy * scale);
    };
    canvas.addEventListener("pointerdown", (e) => { held.set(e.pointerId, e); canvas.setPointerCapture(e.pointerId); });
    const release = (e) => held.delete(e.pointerId);
    canvas.addEventListener("pointerup", release);
    canvas.addEventListener("pointercancel", release);
    canvas.addEventListener("pointermove", (e) => {
      const before = held.get(e.pointerId);
      if (!before) return;
      const dx = e.clientX - before.clientX, dy = e.clientY - before.clientY;
      if (held.size === 2) {
        const other = [...held.values()].find((o) => o.pointerId !== e.pointerId);
        const gap = (o) => Math.hypot(o.clientX - other.clientX, o.clientY - other.clientY) || 1;
        this.distance = (this.away() * gap(before)) / gap(e);
      } else if (e.buttons === 2 || e.shiftKey) slide(dx, dy);
      else {
        this.azimuth -= dx * 0.008;
        this.height = Math.max(-1.57, Math.min(1.57, this.height + dy * 0.008));
      }
      held.set(e.pointerId, e);
    });
    canvas.addEventListener("contextmenu", (e) => e.preventDefault());
    canvas.addEventListener("wheel", (e) => {
      e.preventDefault();
      this.distance = this.away() * Math.exp(e.deltaY * 0.001);
    }, { passive: false });
  }

  away() {
    return this.distance ?? this.fitting();
  }

  resized() {
    const box = this.viewer.canvas.parentElement;
    const width = box.clientWidth, height = box.clientHeight;
    if (!width || !height) return;
    this.renderer.setPixelRatio(Math.min(2, window.devicePixelRatio || 1));
    this.renderer.setSize(width, height, false);
    this.renderer.getDrawingBufferSize(SCREEN.value);
    this.camera.aspect = width / height;
    this.camera.updateProjectionMatrix();
    this.scene.background = new THREE.Color(this.viewer.dark() ? "#14181d" : "#f7f8fa");
    this.grid.material.color.set(this.viewer.dark() ? "#c8d0d8" : "#56606a");
    this.stale = true;
  }

  // What would be smaller on the screen than one can see is drawn larger, about its own place.
  enlarge() {
    this.camera.updateMatrixWorld();
    const half = Math.tan((this.camera.fov * Math.PI) / 360), height = this.viewer.canvas.clientHeight || 1;
    for (const object of this.objects) {
      const { shape, least, radius } = object.userData;
      if (!least || !object.visible) continue;
      const away = Math.max(object.position.distanceTo(this.camera.position), this.camera.near);
      const pixels = (radius * height) / (away * half), factor = Math.max(1, least / Math.max(pixels, 1e-9));
      if (shape.kind === "rod" || shape.kind === "spring") object.scale.set(factor, factor, object.scale.z);
      else object.scale.setScalar(factor);
    }
  }

  // Draw the scene where it or the camera has changed since the last frame: a page at rest costs nothing.
  render() {
    const view = [...this.target.toArray(), this.azimuth, this.height, this.away()].join();
    if (!this.stale && view === this.drawnView) return;
    [this.stale, this.drawnView] = [false, view];
    this.camera.position.copy(this.target).addScaledVector(this.backwards(), this.away());
    this.camera.lookAt(this.target);
    this.enlarge();
    this.renderer.render(this.scene, this.camera);
    this.frames = (this.frames || 0) + 1;
  }
}

// Pixels: the least size of a body, the least width of a rod, and the width of a line.
const LEAST_BODY = 9, LEAST_ROD = 3, LINE_WIDTH = 2;

function turnedCylinder(radius, length, material) {
  // A cylinder along z, as the model's axes are.
  const geometry = new THREE.CylinderGeometry(radius, radius, length, 28);
  geometry.rotateX(Math.PI / 2);
  return new THREE.Mesh(geometry, material);
}

// How small an object may become on the screen, and its radius as it is; bodies of a stated size and marks alike.
function leastSize(object, shape) {
  if (shape.kind === "rod" || shape.kind === "spring") {
    const { x, y } = sizeOf(object);
    return { least: shape.kind === "rod" ? LEAST_ROD : LEAST_BODY, radius: Math.max(x, y) / 2 };
  }
  if (!["box", "sphere", "ellipsoid", "point", "cylinder", "mesh", "joint", "hinge"].includes(shape.kind)) return {};
  return { least: shape.kind === "joint" || shape.kind === "hinge" ? LEAST_BODY / 2 : LEAST_BODY, radius: sizeOf(object).length() / 2 };
}

function sizeOf(object) {
  return new THREE.Box3().setFromObject(object).getSize(new THREE.Vector3());
}

// Lines of WebGL are one pixel wide: copies moved by a part of a pixel make them as wide as they should be.
function lineOf(points, colour, count, settings = {}) {
  const geometry = new THREE.BufferGeometry();
  geometry.setAttribute("position", new THREE.BufferAttribute(new Float32Array(3 * points), 3));
  geometry.setDrawRange(0, count);
  const ratio = Math.min(2, window.devicePixelRatio || 1), reach = LINE_WIDTH * ratio - 1;
  const lines = [[0, 0], [reach, 0], [0, reach], [reach, reach]].map((shift) => {
    const line = new THREE.Line(geometry, shiftedLine({ color: colour, ...settings }, shift));
    line.frustumCulled = false;
    return line;
  });
  lines[0].add(...lines.slice(1));
  return lines[0];
}

function shiftedLine(settings, shift) {
  const material = new THREE.LineBasicMaterial(settings);
  material.onBeforeCompile = (shader) => {
    shader.uniforms.shift = { value: new THREE.Vector2(...shift) };
    shader.uniforms.screen = SCREEN;
    shader.vertexShader = `uniform vec2 shift, screen;\n${shader.vertexShader}`
      .replace("#include <project_vertex>", "#include <project_vertex>\n  gl_Position.xy += 2.0 * shift / screen * gl_Position.w;");
  };
  return material;
}

// The size of the picture in pixels, for all lines.
const SCREEN = { get value() { return SCREEN.size || (SCREEN.size = new THREE.Vector2(1, 1)); } };

const SHAPE_MAKERS = {
  box: ({ size, material }) => {
    const mesh = new THREE.Mesh(new THREE.BoxGeometry(...[0, 1, 2].map((k) => size.size[k] ?? size.size[1])), material);
    const edges = new THREE.LineSegments(new THREE.EdgesGeometry(mesh.geometry),
      new THREE.LineBasicMaterial({ color: 0x222222, transparent: true, opacity: 0.35 }));
    mesh.add(edges);
    return mesh;
  },
  ellipsoid: ({ size, material }) => {
    const ball = new THREE.SphereGeometry(0.5, 40, 24);
    return new THREE.Mesh(ball.scale(...[0, 1, 2].map((k) => size.size[k] ?? size.size[1])), material);
  },
  sphere: ({ size, material }) => new THREE.Mesh(new THREE.SphereGeometry(size.radius[0], 32, 20), material),
  point: ({ size, unit, material }) =>
    new THREE.Mesh(new THREE.SphereGeometry(size.radius ? size.radius[0] : 0.045 * unit, 28, 18), material),
  joint: ({ unit, material }) => new THREE.Mesh(new THREE.SphereGeometry(0.022 * unit, 20, 14), material),
  hinge: ({ unit, material }) => turnedCylinder(0.02 * unit, 0.09 * unit, material),
  cylinder: ({ shape, size, material }) => {
    // A line across either end shows that it turns.
    const disc = turnedCylinder(size.radius[0], size.length[0], material), r = size.radius[0];
    if (shape.width >= 7) {
      const bar = new THREE.Mesh(new THREE.BoxGeometry(1.8 * r, 0.06 * r, 1.02 * size.length[0]), material.clone());
      bar.material.color.offsetHSL(0, 0, 0.18);
      disc.add(bar);
    }
    return disc;
  },
  rod: ({ size, unit, material }) => turnedCylinder(size.radius ? size.radius[0] : 0.012 * unit, 1, material),
  spring: ({ shape, size, unit, material }) => {
    const radius = size.radius ? size.radius[0] : 0.04 * unit, coils = shape.settings.coils ?? 8;
    class Helix extends THREE.Curve {
      getPoint(s) {
        const inner = Math.max(0, Math.min(1, (s - 0.08) / 0.84)), r = s > 0.06 && s < 0.94 ? radius : 0;
        return new THREE.Vector3(r * Math.cos(2 * Math.PI * coils * inner), r * Math.sin(2 * Math.PI * coils * inner), s - 0.5);
      }
    }
    return new THREE.Mesh(new THREE.TubeGeometry(new Helix(), 24 * coils, 0.16 * radius, 6), material);
  },
  line: ({ shape, run }) => lineOf(shape.width / 3, shape.settings.colour || run.colour, shape.width / 3),
  trace: ({ shape, run, viewer }) => {
    const count = shape.track.length / 3;
    const colour = viewer.runs.length > 1 ? run.colour : shape.settings.colour || shape.paint || run.colour;
    const line = lineOf(count + 1, colour, 0, { transparent: true, opacity: 0.6 });
    line.geometry.attributes.position.array.set(shape.track);
    return line;
  },
  arrow: (a) => arrowOf(a, a.shape.settings.colour || "#d55e00"),
  force: (a) => arrowOf(a, "#d55e00"),
  frame: ({ size, unit }) => {
    const group = new THREE.Group(), length = size.length ? size.length[0] : 0.16 * unit;
    ["#d43d2a", "#2f9e44", "#1c6dd0"].forEach((colour, k) => {
      const rod = turnedCylinder(0.03 * length, length, new THREE.MeshStandardMaterial({ color: colour }));
      const axis = [new THREE.Vector3(1, 0, 0), new THREE.Vector3(0, 1, 0), new THREE.Vector3(0, 0, 1)][k];
      rod.quaternion.setFromUnitVectors(new THREE.Vector3(0, 0, 1), axis);
      rod.position.copy(axis.multiplyScalar(length / 2));
      group.add(rod);
    });
    return group;
  },
  plane: ({ size, unit, material }) => {
    const side = size.size ? size.size[0] : 2.4 * unit;
    material.transparent = true;
    material.opacity = 0.2;
    return new THREE.Mesh(new THREE.PlaneGeometry(side, size.size ? size.size[1] ?? side : side), material);
  },
  mesh: ({ shape, size, material }) => {
    const geometry = new THREE.BufferGeometry();
    const scale = size.scale ? size.scale[0] : 1;
    geometry.setAttribute("position", new THREE.BufferAttribute(decoded(shape.vertices).map((v) => scale * v), 3));
    geometry.setIndex(new THREE.BufferAttribute(new Uint32Array(decoded(shape.triangles)), 1));
    geometry.computeVertexNormals();
    material.flatShading = true;
    return new THREE.Mesh(geometry, material);
  },
};

function arrowOf({ unit }, colour) {
  const group = new THREE.Group(), material = new THREE.MeshStandardMaterial({ color: colour, roughness: 0.6 });
  const shaft = turnedCylinder(0.016 * unit, 1, material);
  const head = new THREE.Mesh(new THREE.ConeGeometry(0.038 * unit, 0.1 * unit, 18).rotateX(Math.PI / 2), material);
  group.add(shaft, head);
  return group;
}

const Z_AXIS = { get value() { return new THREE.Vector3(0, 0, 1); } };

function stretched(object, a, b) {
  const along = b.clone().sub(a), length = along.length();
  object.position.copy(a).addScaledVector(along, 0.5);
  if (length > 0) object.quaternion.setFromUnitVectors(Z_AXIS.value, along.divideScalar(length));
  object.scale.set(1, 1, Math.max(length, 1e-9));
}

const PLACERS = {
  pose: (object, row) => {
    object.position.set(row[0], row[1], row[2]);
    if (row.length >= 7) object.quaternion.set(row[4], row[5], row[6], row[3]).normalize();
  },
  plane: (object, row, position, viewer) => {
    PLACERS.pose(object, row);
    if (object.userData.shape.sizes.size) return;
    // A plane without a size is as large as the scene and lies about its middle.
    const normal = Z_AXIS.value.applyQuaternion(object.quaternion), centre = new THREE.Vector3(...viewer.data.centre);
    object.position.copy(centre.addScaledVector(normal, object.position.dot(normal) - centre.dot(normal)));
  },
  rod: (object, row) => stretched(object, new THREE.Vector3(...row.slice(0, 3)), new THREE.Vector3(...row.slice(3, 6))),
  spring: (object, row) => PLACERS.rod(object, row),
  line: (object, row) => {
    object.geometry.attributes.position.array.set(row);
    object.geometry.attributes.position.needsUpdate = true;
  },
  trace: (object, row, position) => {
    // The path so far, ending where the shape is now.
    const whole = Math.floor(position), array = object.geometry.attributes.position.array;
    const track = object.userData.shape.track;
    array.set(track.subarray(0, 3 * (whole + 1)));
    array.set(row, 3 * (whole + 1));
    object.geometry.attributes.position.needsUpdate = true;
    object.geometry.setDrawRange(0, whole + 2);
  },
  arrow: (object, row, position, viewer) => {
    const { shape } = object.userData, unit = viewer.data.unit;
    const scale = shape.sizes.scale ? shape.sizes.scale[0] : viewer.data.reach[shape.kind];
    const tail = new THREE.Vector3(...row.slice(0, 3)), along = new THREE.Vector3(...row.slice(3, 6)).multiplyScalar(scale);
    // An impact must not fill the screen: arrows end at a length, and the legend tells the scale.
    const head = 0.1 * unit;
    if (!shape.sizes.scale) along.clampLength(0, LONGEST_ARROW * unit);
    const length = along.length();
    object.visible = !viewer.hidden.has(shape.group) && length > 1e-3 * unit;
    if (!object.visible) return;
    const [shaft, tip] = object.children, size = Math.min(1, length / (1.5 * head));
    object.position.copy(tail);
    object.quaternion.setFromUnitVectors(Z_AXIS.value, along.clone().divideScalar(length));
    const stem = Math.max(length - size * head, 1e-9);
    shaft.scale.set(1, 1, stem);
    shaft.position.set(0, 0, stem / 2);
    tip.scale.setScalar(size);
    tip.position.set(0, 0, length - (size * head) / 2);
  },
  force: (object, row, position, viewer) => PLACERS.arrow(object, row, position, viewer),
};

// -- curves ------------------------------------------------------------------------------------------------------

class DaedalusCurves {
  constructor(viewer) {
    this.viewer = viewer;
    this.panels = viewer.panels.map((panel) => {
      const canvas = made("canvas", { class: "dd-plot" });
      const legend = made("div", { class: "dd-keys" });
      panel.series.forEach((series, k) => {
        const colour = series.colour || PALETTE[k % PALETTE.length];
        series.paint = colour;
        const dashed = series.dash && series.dash.length ? `border-top:3px dashed ${colour};height:0` : `background:${colour}`;
        series.value = made("output", { class: "dd-value" });
        const key = made("button", { class: "dd-key", title: "hide or show", type: "button", onclick: () => {
          series.hidden = !series.hidden;
          key.classList.toggle("dd-off", series.hidden);
          this.draw();
        } }, made("i", { style: dashed }), series.label, series.value);
        legend.append(key);
      });
      viewer.plots.append(made("figure", {}, made("figcaption", { text: panel.label }), canvas, legend));
      const move = (e) => {
        if (e.type !== "pointerdown" && !e.buttons) return;
        const box = canvas.getBoundingClientRect(), share = (e.clientX - box.left - LEFT) / (box.width - LEFT - RIGHT);
        viewer.pause();
        const [from, to] = this.span();
        viewer.seek(from + share * (to - from));
      };
      // The wheel zooms in time about the pointer; a double click shows all of it.
      canvas.addEventListener("wheel", (e) => {
        e.preventDefault();
        const box = canvas.getBoundingClientRect(), share = (e.clientX - box.left - LEFT) / (box.width - LEFT - RIGHT);
        const [from, to] = this.span(), at = from + share * (to - from), factor = e.deltaY < 0 ? 0.8 : 1.25;
        const view = [at + (from - at) * factor, at + (to - at) * factor];
        const all = Math.abs(view[1] - view[0]) >= Math.abs(viewer.until - viewer.begin);
        this.view = all ? null : view;
        this.draw();
      }, { passive: false });
      canvas.addEventListener("dblclick", () => { this.view = null; this.draw(); });
      canvas.addEventListener("pointerdown", move);
      canvas.addEventListener("pointermove", move);
      return { ...panel, canvas, still: null };
    });
  }

  // The times that are shown.
  span() {
    return this.view || [this.viewer.begin, this.viewer.until];
  }

  draw() {
    for (const panel of this.panels) this.drawPanel(panel);
    this.cursor();
  }

  drawPanel(panel) {
    const { canvas } = panel, series = panel.series.filter((one) => !one.hidden), ratio = Math.min(2, window.devicePixelRatio || 1);
    const width = canvas.clientWidth, height = canvas.clientHeight;
    if (!width || !height) return;
    canvas.width = width * ratio;
    canvas.height = height * ratio;
    const still = document.createElement("canvas");
    still.width = canvas.width;
    still.height = canvas.height;
    const pen = still.getContext("2d");
    pen.scale(ratio, ratio);
    const [low, high] = panel.fixed || readableRange(series);
    const inks = this.viewer.dark() ? ["#8b97a3", "#2b333b"] : ["#5b6670", "#e3e7eb"];
    const { times } = this.viewer, [begin, until] = this.span();
    const across = (t) => LEFT + ((t - begin) / (until - begin || 1)) * (width - LEFT - RIGHT), x = (k) => across(times[k]);
    const y = (v) => TOP + (1 - (v - low) / (high - low)) * (height - TOP - BOTTOM);
    pen.font = "11px system-ui, sans-serif";
    for (const [tick, text] of ticksOf(low, high, Math.max(2, Math.round(height / 32)))) {
      pen.strokeStyle = inks[1];
      pen.beginPath(); pen.moveTo(LEFT, y(tick)); pen.lineTo(width - RIGHT, y(tick)); pen.stroke();
      pen.fillStyle = inks[0]; pen.textAlign = "right"; pen.textBaseline = "middle";
      pen.fillText(text, LEFT - 5, y(tick));
    }
    for (const [tick, text] of ticksOf(Math.min(begin, until), Math.max(begin, until), Math.max(3, Math.round(width / 110)))) {
      pen.fillStyle = inks[0]; pen.textAlign = "center"; pen.textBaseline = "top";
      pen.fillText(text, across(tick), height - BOTTOM + 4);
    }
    pen.textAlign = "center"; pen.fillText("time [s]", (LEFT + width - RIGHT) / 2, height - 14);
    for (const event of this.viewer.data.events || []) {
      const at = across(event);
      if (at < LEFT || at > width - RIGHT) continue;
      pen.strokeStyle = inks[1]; pen.beginPath(); pen.moveTo(at, TOP); pen.lineTo(at, height - BOTTOM); pen.stroke();
    }
    pen.save();
    pen.beginPath(); pen.rect(LEFT, TOP - 2, width - LEFT - RIGHT, height - TOP - BOTTOM + 4); pen.clip();
    for (const one of series) {
      if (one.lower) {
        pen.globalAlpha = 0.18; pen.fillStyle = one.paint; pen.beginPath();
        one.lower.forEach((v, k) => pen.lineTo(x(k), y(v)));
        for (let k = one.upper.length - 1; k >= 0; k--) pen.lineTo(x(k), y(one.upper[k]));
        pen.fill(); pen.globalAlpha = 1;
      }
      if (one.ghost) {
        pen.globalAlpha = 0.35; pen.strokeStyle = inks[0]; pen.lineWidth = 1.2; pen.setLineDash([]); pen.beginPath();
        traced(pen, one.ghost, x, y, one.step);
        pen.stroke(); pen.globalAlpha = 1;
      }
      pen.strokeStyle = pen.fillStyle = one.paint; pen.lineWidth = 1.6; pen.setLineDash(one.dash || []); pen.beginPath();
      if (one.least) {
        // Faster than the times: what lies between the least and the most is filled.
        pen.globalAlpha = 0.75;
        const middle = (k) => (x(k) + x(Math.min(k + 1, one.values.length - 1))) / 2;
        for (let k = 0; k + 1 < one.values.length; k++) pen.lineTo(middle(k), y(one.most[k]));
        for (let k = one.values.length - 2; k >= 0; k--) pen.lineTo(middle(k), y(one.least[k]));
        pen.fill(); pen.stroke(); pen.globalAlpha = 1;
        continue;
      }
      traced(pen, one.values, x, y, one.step);
      pen.stroke();
    }
    pen.restore();
    panel.still = still;
  }

  cursor() {
    const { viewer } = this, [from, to] = this.span(), share = (viewer.now - from) / (to - from || 1);
    const position = viewer.position(viewer.now), left = Math.floor(position);
    for (const { canvas, still, series } of this.panels) {
      for (const one of series) {
        const next = Math.min(left + 1, one.values.length - 1), part = one.step ? 0 : position - left;
        one.value.textContent = ` ${shortNumber((1 - part) * one.values[left] + part * one.values[next])}`;
      }
      if (!still) continue;
      const pen = canvas.getContext("2d"), ratio = canvas.width / canvas.clientWidth;
      pen.clearRect(0, 0, canvas.width, canvas.height);
      pen.drawImage(still, 0, 0);
      const at = (LEFT + share * (canvas.clientWidth - LEFT - RIGHT)) * ratio;
      if (share < 0 || share > 1) continue;
      pen.strokeStyle = viewer.dark() ? "#f0f3f6" : "#20262c";
      pen.lineWidth = ratio;
      pen.beginPath(); pen.moveTo(at, TOP * ratio); pen.lineTo(at, canvas.height - BOTTOM * ratio); pen.stroke();
    }
  }
}

const LONGEST_ARROW = 0.9;
const LEFT = 58, RIGHT = 16, TOP = 8, BOTTOM = 34;

// The range of the curves; a short blow-up does not flatten what came before it.
function readableRange(series) {
  const all = series.flatMap((s) => [...s.values, ...(s.least || []), ...(s.most || [])].filter(Number.isFinite))
    .sort((a, b) => a - b);
  if (!all.length) return [0, 1];
  let low = all[0], high = all[all.length - 1];
  const q = (p) => all[Math.round(p * (all.length - 1))];
  const body = q(0.95) - q(0.05);
  if (body > 0 && high - low > 50 * body) { low = Math.max(low, q(0.05) - 3 * body); high = Math.min(high, q(0.95) + 3 * body); }
  return roomAround(low, high, 0.06);
}

// A range with some room at both ends; what is constant but for rounding is drawn as a straight line.
function roomAround(low, high, share) {
  const size = Math.max(Math.abs(low), Math.abs(high));
  const room = high - low > 1e-5 * size ? (high - low) * share : size * 0.05 || 1;
  return [low - room, high + room];
}

// A line through values; step: each holds until the next one comes.
function traced(pen, values, x, y, step) {
  let last = NaN;
  values.forEach((v, k) => {
    if (!Number.isFinite(v)) return;
    if (step && Number.isFinite(last)) pen.lineTo(x(k), y(last));
    pen.lineTo(x(k), y(v));
    last = v;
  });
}

// Round numbers between two ends with their texts, which have one exponent and equally many digits.
function ticksOf(low, high, count) {
  const raw = (high - low) / count, size = Math.max(Math.abs(low), Math.abs(high));
  // Below the last digit of the ends there is nothing to tell.
  if (!(raw > 1e-13 * size) || !Number.isFinite(raw)) return [];
  const decade = Math.pow(10, Math.floor(Math.log10(raw)));
  const step = [1, 2, 5, 10].map((f) => f * decade).find((s) => s >= raw * 0.999);
  const first = Math.ceil(low / step), length = Math.max(0, Math.floor(high / step + 1e-9) - first + 1);
  const exponent = Math.floor(Math.log10(size)), own = size >= 1e5 || size < 1e-2 ? exponent : 0;
  const digits = Math.max(0, own - Math.floor(Math.log10(step) + 1e-9));
  return Array.from({ length }, (_, k) => {
    const value = (first + k) * step, text = (value / Math.pow(10, own)).toFixed(digits);
    return [value, first + k === 0 ? "0" : own ? `${text}e${own}` : text];
  });
}

function shortNumber(value) {
  const size = Math.abs(value);
  if (!Number.isFinite(value)) return "–";
  if (size < 1e-12) return "0";
  return size >= 1e4 || size < 1e-3 ? value.toExponential(1) : String(Number(value.toPrecision(4)));
}
