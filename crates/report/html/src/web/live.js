// Replaces the parts of a live page as they arrive. Without it, the page shows the moment when it was loaded.
(() => {
  "use strict";
  const live = document.getElementById("live"), status = document.getElementById("connection");
  if (!live || !window.EventSource) return;
  const say = (state, text) => {
    document.documentElement.dataset.connection = state;
    if (status.textContent !== text) status.textContent = text;
  };

  // What a reader has opened, scrolled or focused stays so.
  const kept = (part) => ({
    open: [...part.querySelectorAll("details")].map((one) => one.open),
    left: [...part.querySelectorAll(".scroll, .picture")].map((one) => one.scrollLeft),
    focus: [...part.querySelectorAll("summary, a, [tabindex]")].indexOf(document.activeElement),
  });
  const restore = (part, was) => {
    part.querySelectorAll("details").forEach((one, place) => { if (was.open[place]) one.open = true; });
    part.querySelectorAll(".scroll, .picture").forEach((one, place) => { one.scrollLeft = was.left[place] || 0; });
    if (was.focus >= 0) part.querySelectorAll("summary, a, [tabindex]")[was.focus]?.focus({ preventScroll: true });
  };

  const source = new EventSource(live.dataset.events);
  source.addEventListener("open", () => say("open", "Live."));
  source.addEventListener("error", () => say("lost", "The connection is lost; trying again."));
  source.addEventListener("part", (event) => {
    // The server has escaped all text in it; scripts do not run in it, nor does the page's policy let any but this one.
    const { id, html, at, ended } = JSON.parse(event.data), part = document.getElementById(id);
    if (!part) return;
    const was = kept(part);
    part.innerHTML = html;
    restore(part, was);
    part.dataset.late = String(Date.now() - at);
    part.dataset.ended = String(ended);
    document.documentElement.dataset.parts = String(1 + Number(document.documentElement.dataset.parts || 0));
  });
  source.addEventListener("ended", (event) => {
    source.close();
    const { href, next, text } = JSON.parse(event.data);
    say("ended", text + " ");
    if (next) setTimeout(() => location.assign(next), 1000);
    if (!href) return;
    const link = document.createElement("a");
    link.href = href;
    link.textContent = "Open its report";
    status.append(link);
  });
})();
