// Holds a task for whoever works on it: once a minute, if a key or the pointer was used since, it asks for more time.
"use strict";

const MINUTE = 60_000;
const lease = document.getElementById("lease");
const over = document.getElementById("lease-over");
const left = lease.querySelector("b");
let ends = Date.now() + 1000 * Number(lease.dataset.seconds);
let worked = false;

for (const kind of ["keydown", "pointerdown", "input"]) {
  document.addEventListener(kind, () => { worked = true; }, { passive: true });
}

function draw() {
  const minutes = Math.max(0, Math.ceil((ends - Date.now()) / MINUTE));
  const words = lease.dataset.unit.replace("{n}", String(minutes));
  if (left.textContent !== words) left.textContent = words;
  lease.hidden = minutes === 0;
  over.hidden = minutes > 0;
}

async function renew() {
  if (worked) {
    worked = false;
    try {
      const body = new URLSearchParams({ csrf: lease.dataset.csrf });
      const answer = await fetch(lease.dataset.address, { method: "POST", body });
      if (answer.ok) ends = Date.now() + 1000 * (await answer.json()).seconds;
      else if (answer.status === 409) ends = Date.now();
    } catch {
      worked = true; // Nobody answered: ask again in a minute; until then the time runs down.
    }
  }
  draw();
}

draw();
setInterval(draw, MINUTE / 12);
setInterval(renew, MINUTE);
