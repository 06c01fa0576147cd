// SPDX-License-Identifier: Apache-2.0
// The page that `towpath trace --html` writes: lanes on one axis of time, and the packets of the descriptor that is chosen.
"use strict";
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const at = (id) => document.getElementById(id);
  const [PS, KIND, WHAT, TO_CARD, CHANNEL, BYTES, OF, TEXT, MASKS] = [0, 1, 2, 3, 4, 5, 6, 7, 8];
  const events = data.events, descriptors = data.descriptors;
  const BEATS = data.what.indexOf("beats");
  const LEFT = 130, AXIS = 26, ROW = 20, LEVELS = 4, LISTED = 500;

  // A packet's line says when its last byte came; it began as many bytes earlier.
  const began = (event) => {
    if (event[WHAT] === BEATS) return event[MASKS].from;
    if (!data.byte_fs) return event[PS];
    const header = 24 + (data.what[event[WHAT]] === "read" ? 0 : event[BYTES]);
    return event[PS] - header * data.byte_fs / 1000;
  };
  const first = events.reduce((least, event) => Math.min(least, began(event)), Infinity);
  const last = events.reduce((most, event) => Math.max(most, event[PS]), 0);
  const START = events.length ? first : 0, END = events.length ? Math.max(last, first + 1000) : 1000;

  // Lanes: each has its spans, sorted by their begin, and what they are numbers of.
  const lanes = [];
  const lane = (name, spans, levels) => lanes.push({ name, spans, levels: levels || 1, longest: 0 });
  const spanOf = (number) => ({ from: began(events[number]), to: events[number][PS], event: number, of: events[number][OF] });
  const select = (wanted) => events.map((event, number) => (wanted(event) ? number : -1)).filter((number) => number >= 0).map(spanOf);
  data.channels.forEach((channel, index) => {
    // Descriptors that are open at once are drawn below each other; what finds no free level shares the last.
    const free = new Array(LEVELS).fill(-Infinity);
    const spans = [];
    descriptors.forEach((one, number) => {
      if (one.channel !== index) return;
      const to = one.ended === null ? END : one.ended;
      let level = free.findIndex((until) => until <= one.posted);
      if (level < 0) level = LEVELS - 1;
      free[level] = Math.max(free[level], to);
      spans.push({ from: one.posted, to, descriptor: number, of: number, level });
    });
    if (spans.length) lane(channel.name, spans, 1 + Math.max(...spans.map((span) => span.level), 0));
    const beats = select((event) => event[WHAT] === BEATS && event[CHANNEL] === index);
    if (beats.length) lane(channel.name + ": core", beats);
  });
  lane("to the card", select((event) => event[TO_CARD] === 1 && event[WHAT] !== BEATS));
  lane("to the host", select((event) => event[TO_CARD] === 0 && event[WHAT] !== BEATS && data.what[event[WHAT]] !== "interrupt"));
  lane("interrupts", select((event) => data.what[event[WHAT]] === "interrupt"));
  let height = AXIS;
  for (const one of lanes) {
    one.spans.sort((a, b) => a.from - b.from);
    one.longest = one.spans.reduce((most, span) => Math.max(most, span.to - span.from), 0);
    one.top = height + 3;
    height += ROW * one.levels + 8;
  }
  const packetsOf = descriptors.map(() => []);
  events.forEach((event, number) => event[OF] >= 0 && packetsOf[event[OF]].push(number));

  const canvas = at("canvas"), context = canvas.getContext("2d"), view = at("view");
  let from = START, to = END, chosen = -1, width = 0, scheduled = false, colours = {};
  const margin = (END - START) * 0.02;

  const time = (ps, digits) => {
    const [unit, size] = (to - from) >= 2e9 ? ["ms", 1e9] : (to - from) >= 2e6 ? ["\u00b5s", 1e6] : ["ns", 1e3];
    return (ps / size).toFixed(digits === undefined ? 3 : digits) + " " + unit;
  };
  const nanoseconds = (ps) => (ps / 1000).toFixed(3);
  const x = (ps) => LEFT + (ps - from) / (to - from) * (width - LEFT);
  const psAt = (place) => from + (place - LEFT) / (width - LEFT) * (to - from);
  const kindOf = (span) => (span.descriptor !== undefined ? "descriptor" : events[span.event][WHAT] === BEATS ? "beats" : data.kinds[events[span.event][KIND]]);

  function readColours() {
    const style = getComputedStyle(document.documentElement);
    for (const name of ["back", "text", "dim", "line", "row", "chosen", "held", ...data.kinds]) colours[name] = style.getPropertyValue("--" + name).trim();
  }

  // The first span that may reach into the view.
  function firstIn(one, ps) {
    let low = 0, high = one.spans.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (one.spans[middle].from < ps - one.longest) low = middle + 1; else high = middle;
    }
    return low;
  }

  function drawBeats(span, top) {
    const masks = events[span.event][MASKS];
    const step = masks.period;
    if (x(step) - x(0) < 1.5) {
      // Too narrow for single clocks: the parts that moved and were held, from below.
      const moved = ROW * masks.moved / masks.clocks, held = ROW * masks.held / masks.clocks;
      const left = x(span.from), wide = Math.max(1, x(span.to) - left);
      context.fillStyle = colours.beats;
      context.fillRect(left, top + ROW - moved, wide, moved);
      context.fillStyle = colours.held;
      context.fillRect(left, top + ROW - moved - held, wide, held);
      return;
    }
    const valid = BigInt("0x" + masks.valid), ready = BigInt("0x" + masks.ready);
    for (let clock = 0; clock < masks.clocks; clock++) {
      const bit = 1n << BigInt(clock);
      if (!(valid & bit)) continue;
      const left = x(span.from + clock * step);
      context.fillStyle = ready & bit ? colours.beats : colours.held;
      context.fillRect(left, top + (ready & bit ? 0 : ROW / 2), Math.max(1, x(span.from + (clock + 1) * step) - left - 0.5), ready & bit ? ROW : ROW / 2);
    }
  }

  function draw() {
    scheduled = false;
    const scale = window.devicePixelRatio || 1;
    width = view.clientWidth;
    if (canvas.width !== Math.round(width * scale) || canvas.height !== Math.round(height * scale)) {
      canvas.width = Math.round(width * scale);
      canvas.height = Math.round(height * scale);
      canvas.style.height = height + "px";
    }
    context.setTransform(scale, 0, 0, scale, 0, 0);
    context.fillStyle = colours.back;
    context.fillRect(0, 0, width, height);
    context.font = "12px system-ui, sans-serif";
    context.textBaseline = "middle";
    const step = 10 ** Math.floor(Math.log10((to - from) / 6));
    const tick = [1, 2, 5, 10].map((by) => by * step).find((by) => (to - from) / by <= 8);
    const first = Math.ceil(from / tick) * tick;
    // By number: at late times one tick more may be too little for a sum to move.
    for (let n = 0, ps = first; ps <= to && n < 100; n++, ps = first + n * tick) {
      context.fillStyle = colours.line;
      context.fillRect(x(ps), AXIS - 4, 1, height);
      context.fillStyle = colours.dim;
      context.fillText(time(ps, tick >= 1e9 || (tick >= 1e6 && to - from < 2e9) || (tick >= 1e3 && to - from < 2e6) ? 0 : 3), x(ps) + 3, AXIS / 2);
    }
    for (const one of lanes) {
      context.fillStyle = colours.text;
      context.fillText(one.name.length > 20 ? one.name.slice(0, 19) + "\u2026" : one.name, 6, one.top + ROW / 2);
      context.fillStyle = colours.line;
      context.fillRect(0, one.top - 4, width, 1);
      context.save();
      context.beginPath();
      context.rect(LEFT, one.top, width - LEFT, ROW * one.levels);
      context.clip();
      // A pixel that is full already is not drawn again: a million packets cost no more than the pixels.
      const full = new Array(one.levels).fill(-Infinity);
      const marked = [];
      for (let number = firstIn(one, from); number < one.spans.length; number++) {
        const span = one.spans[number];
        if (span.from > to) break;
        if (span.to < from) continue;
        if (chosen >= 0 && span.of === chosen) marked.push(span);
        const level = span.level || 0, left = x(span.from), right = Math.max(x(span.to), left + 1);
        if (Math.floor(right) <= full[level]) continue;
        full[level] = Math.floor(right);
        if (kindOf(span) === "beats") {
          drawBeats(span, one.top);
          continue;
        }
        context.fillStyle = colours[kindOf(span)];
        context.fillRect(left, one.top + level * ROW + 2, right - left, ROW - 4);
        if (span.descriptor !== undefined && right - left > 60) {
          context.fillStyle = colours.back;
          context.fillText(String(descriptors[span.descriptor].cookie), Math.max(left, LEFT) + 4, one.top + level * ROW + ROW / 2 + 1);
        }
      }
      context.fillStyle = context.strokeStyle = colours.chosen;
      context.lineWidth = 3;
      for (const span of marked) {
        const left = x(span.from), wide = Math.max(x(span.to) - left, 3), top = one.top + (span.level || 0) * ROW;
        if (span.descriptor !== undefined) context.strokeRect(left + 1, top + 2, Math.max(wide - 2, 1), ROW - 4);
        else context.fillRect(left, top, wide, ROW);
      }
      context.restore();
    }
    at("range").textContent = time(from) + " to " + time(to);
  }
  const redraw = () => {
    if (!scheduled) requestAnimationFrame(draw);
    scheduled = true;
  };

  function show(newFrom, newTo) {
    const span = Math.min(Math.max(newTo - newFrom, 1000), END - START + 2 * margin);
    const middle = Math.min(Math.max((newFrom + newTo) / 2, START - margin + span / 2), END + margin - span / 2);
    from = middle - span / 2;
    to = middle + span / 2;
    redraw();
  }
  const all = () => show(START - margin, END + margin);
  const zoom = (by, around) => show(around - (around - from) * by, around + (to - around) * by);
  const pan = (by) => show(from + by * (to - from), to + by * (to - from));
  const extent = (number) => packetsOf[number].reduce((range, event) => [Math.min(range[0], began(events[event])), Math.max(range[1], events[event][PS])],
    [descriptors[number].posted, descriptors[number].ended === null ? descriptors[number].posted : descriptors[number].ended]);
  const fit = () => {
    if (chosen < 0) return all();
    const [begin, end] = extent(chosen);
    show(begin - (end - begin) * 0.1, end + (end - begin) * 0.1);
  };

  const cell = (row, text, number) => {
    const made = row.insertCell();
    made.textContent = text;
    if (number) made.className = "number";
    return made;
  };
  function table(into, heads) {
    into.textContent = "";
    const made = into.appendChild(document.createElement("table"));
    const row = made.createTHead().insertRow();
    for (const [name, number] of heads) {
      const head = row.appendChild(document.createElement("th"));
      head.textContent = name;
      head.scope = "col";
      if (number) head.className = "number";
    }
    return made.createTBody();
  }

  // Of many, those around the chosen one.
  function list() {
    const wanted = at("find").value.trim().toLowerCase();
    const fits = (one) => !wanted || [data.channels[one.channel].name, String(one.status), String(one.cookie), one.kind].some((text) => text.toLowerCase() === wanted || (isNaN(wanted) && text.toLowerCase().includes(wanted)));
    const found = descriptors.map((one, number) => number).filter((number) => fits(descriptors[number]));
    const begin = Math.max(0, Math.min(found.indexOf(chosen) - LISTED / 2, found.length - LISTED));
    const body = table(at("descriptors"), [["channel"], ["cookie", 1], ["kind"], ["bytes", 1], ["posted (ns)", 1], ["took (ns)", 1], ["ended"]]);
    for (const number of found.slice(begin, begin + LISTED)) {
      const one = descriptors[number], row = body.insertRow();
      row.setAttribute("aria-selected", String(number === chosen));
      row.dataset.descriptor = number;
      cell(row, data.channels[one.channel].name);
      const button = cell(row, "", 1).appendChild(document.createElement("button"));
      button.type = "button";
      button.textContent = one.cookie;
      button.setAttribute("aria-label", "Descriptor " + one.cookie + " of " + data.channels[one.channel].name);
      cell(row, one.kind);
      cell(row, one.bytes === null ? one.length : one.bytes + (one.bytes === one.length ? "" : " of " + one.length), 1);
      cell(row, nanoseconds(one.posted), 1);
      cell(row, one.ended === null ? "" : nanoseconds(one.ended - one.posted), 1);
      cell(row, one.status === null ? "open" : one.status.replaceAll("_", " "));
    }
    at("listed").textContent = "Descriptors: " + found.length + (found.length > LISTED ? ", " + LISTED + " of them listed" : "");
  }

  function choose(number, keepView) {
    chosen = number;
    if (number < 0) {
      at("chosen").textContent = "No descriptor chosen";
      at("packets").textContent = "";
    } else {
      const one = descriptors[number], mine = packetsOf[number];
      at("chosen").textContent = "Descriptor " + one.cookie + " of " + data.channels[one.channel].name + ": " + one.kind + ", " + one.length + " bytes at " + one.address
        + (one.end ? ", end of message" : "") + "; " + mine.length + " packets" + (mine.length > 2 * LISTED ? ", the first " + 2 * LISTED + " listed" : "");
      const body = table(at("packets"), [["time (ns)", 1], ["to"], ["packet"], ["bytes", 1], ["meaning"]]);
      for (const event of mine.slice(0, 2 * LISTED).map((number) => events[number])) {
        const row = body.insertRow();
        cell(row, nanoseconds(event[PS]), 1);
        cell(row, event[TO_CARD] ? "card" : "host");
        cell(row, data.what[event[WHAT]] || "");
        cell(row, event[BYTES], 1);
        cell(row, event[TEXT]);
      }
      const [begin, end] = extent(number);
      if (!keepView && (end < from || begin > to)) show(begin - (to - from) / 2, begin + (to - from) / 2);
    }
    list();
    const row = at("descriptors").querySelector('[aria-selected="true"]');
    if (row) row.scrollIntoView({ block: "nearest" });
    const hash = number < 0 ? " " : "#descriptor=" + number;
    history.replaceState(null, "", hash === " " ? location.pathname + location.search : hash);
    redraw();
  }
  const next = (by) => {
    if (!descriptors.length) return;
    choose(chosen < 0 ? (by > 0 ? 0 : descriptors.length - 1) : Math.min(Math.max(chosen + by, 0), descriptors.length - 1));
  };

  // What is under the pointer: the nearest within a few pixels.
  function under(place) {
    const one = lanes.find((lane) => place.y >= lane.top - 4 && place.y < lane.top + ROW * lane.levels + 4);
    if (!one || place.x < LEFT) return null;
    const level = Math.min(Math.max(Math.floor((place.y - one.top) / ROW), 0), one.levels - 1), near = 3 * (to - from) / (width - LEFT), ps = psAt(place.x);
    let best = null, least = near;
    for (let number = firstIn(one, ps - near); number < one.spans.length && one.spans[number].from <= ps + near; number++) {
      const span = one.spans[number], away = Math.max(span.from - ps, ps - span.to, 0);
      if ((span.level || 0) === level && away <= least && (best === null || away < least || span.from >= best.from)) [best, least] = [span, away];
    }
    return best;
  }
  const describe = (span) => {
    if (span.descriptor !== undefined) {
      const one = descriptors[span.descriptor];
      return "descriptor " + one.cookie + " of " + data.channels[one.channel].name + ", " + one.kind + ", " + one.length + " bytes\nfrom " + time(one.posted) + " to " + (one.ended === null ? "the end of the record" : time(one.ended) + ": " + one.status.replaceAll("_", " "));
    }
    const event = events[span.event];
    return time(event[PS]) + ": " + (data.what[event[WHAT]] || "") + (event[BYTES] ? ", " + event[BYTES] + " bytes" : "") + "\n" + event[TEXT];
  };

  let grip = null, moved = false;
  const local = (event) => {
    const box = canvas.getBoundingClientRect();
    return { x: event.clientX - box.left, y: event.clientY - box.top };
  };
  view.addEventListener("pointerdown", (event) => {
    grip = { x: local(event).x, from, to };
    moved = false;
    view.setPointerCapture(event.pointerId);
  });
  view.addEventListener("pointermove", (event) => {
    const place = local(event), tip = at("tip");
    if (grip) {
      moved = moved || Math.abs(place.x - grip.x) > 3;
      const by = (grip.x - place.x) / (width - LEFT) * (grip.to - grip.from);
      if (moved) show(grip.from + by, grip.to + by);
    }
    const span = grip && moved ? null : under(place);
    tip.hidden = !span;
    if (!span) return;
    tip.textContent = describe(span);
    tip.style.left = Math.max(0, Math.min(place.x + 12, width - tip.offsetWidth - 4)) + "px";
    tip.style.top = place.y + 14 + "px";
  });
  view.addEventListener("pointerup", (event) => {
    const span = grip && !moved ? under(local(event)) : null;
    grip = null;
    if (span && span.of >= 0) choose(span.of, true);
  });
  view.addEventListener("pointerleave", () => { at("tip").hidden = true; });
  view.addEventListener("wheel", (event) => {
    event.preventDefault();
    if (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY)) pan((event.deltaX || event.deltaY) / 1000);
    else zoom(Math.exp(event.deltaY / 400), psAt(Math.max(local(event).x, LEFT)));
  }, { passive: false });
  document.addEventListener("keydown", (event) => {
    if (event.target.tagName === "INPUT" || event.ctrlKey || event.metaKey || event.altKey) return;
    const keys = {
      ArrowLeft: () => pan(-0.2), ArrowRight: () => pan(0.2), "+": () => zoom(0.5, (from + to) / 2), "=": () => zoom(0.5, (from + to) / 2),
      "-": () => zoom(2, (from + to) / 2), "0": all, Home: all, f: fit, n: () => next(1), p: () => next(-1), Escape: () => choose(-1),
    };
    if (!keys[event.key]) return;
    event.preventDefault();
    keys[event.key]();
  });
  for (const [id, act] of Object.entries({ earlier: () => pan(-0.2), later: () => pan(0.2), closer: () => zoom(0.5, (from + to) / 2), wider: () => zoom(2, (from + to) / 2), all, fit })) at(id).addEventListener("click", act);
  at("find").addEventListener("input", list);
  at("descriptors").addEventListener("click", (event) => {
    const row = event.target.closest("tr[data-descriptor]");
    if (row) choose(Number(row.dataset.descriptor));
  });
  new ResizeObserver(redraw).observe(view);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => { readColours(); redraw(); });

  readColours();
  at("device").textContent = data.device || "";
  const count = (number, what) => number + " " + what + (number === 1 ? "" : "s");
  const open = descriptors.filter((one) => one.ended === null).length;
  at("summary").textContent = count(events.filter((event) => event[WHAT] !== BEATS).length, "packet") + ", " + count(descriptors.length, "descriptor") + (open ? " (" + open + " still open)" : "")
    + ", from " + nanoseconds(START) + " to " + nanoseconds(END) + " ns. Click a descriptor or a packet to see what belongs together.";
  const names = { beats: "beat at the core's stream" };
  const legend = [...data.kinds.map((kind) => [kind, names[kind] || kind]), ["held", "beat held back"]];
  for (const [colour, name] of [...legend, ["chosen", "chosen"]]) {
    const item = at("legend").appendChild(document.createElement("li"));
    item.appendChild(document.createElement("i")).style.background = "var(--" + colour + ")";
    item.append(name);
  }
  const asked = /^#descriptor=(\d+)$/.exec(location.hash);
  all();
  if (asked && descriptors[asked[1]]) { choose(Number(asked[1]), true); fit(); } else list();
})();
