// Keeps the page up to date: puts what the run sends (page-stream.ts) into the elements that are there, so that selection, focus and scroll stay.
const byId = (id) => document.getElementById(id);
const [connection, announcement, pause, filter] = ['connection', 'announcement', 'pause', 'filter'].map(byId);
const icon = document.querySelector('link[rel=icon]');
const clock = new Intl.DateTimeFormat('en-GB', { timeStyle: 'medium' });

/** Longer than this without a word is no connection, whatever the browser says of it. */
const SILENT_MS = 10_000;
const AGAIN_MS = 5_000;

let source;
let heardAt = Date.now();
let lostAt;
let kind;
let again;
/** The run has said its end: the next one may answer here. */
let hasEnded = false;

function connect() {
  clearTimeout(again);
  source?.close();
  source = new EventSource(`events${location.search}`);
  heardAt = Date.now();
  source.addEventListener('page', ({ data }) => show(JSON.parse(data)));
  source.addEventListener('end', end);
  source.addEventListener('error', lost);
}

function show({ version, title, icon: href, kind: isNow, words, parts }) {
  // The run is of another version than this script.
  if (version !== document.documentElement.dataset.version) return location.reload();
  heardAt = Date.now();
  for (const part of parts) apply(part);
  document.title = title;
  icon.href = href;
  // A wait that has another end is no news to those who listen.
  if (kind !== undefined && (kind !== isNow || lostAt !== undefined)) announcement.textContent = words;
  kind = isNow;
  lostAt = undefined;
  hasEnded = false;
  pause.hidden = false;
  say('Live');
}

function end() {
  close();
  hasEnded = true;
  say('The run has ended: this is how it stood then.');
  pause.hidden = true;
  again = setTimeout(connect, AGAIN_MS);
}

function close() {
  source?.close();
  source = undefined;
  clearTimeout(again);
}

function lost() {
  if (hasEnded) return end();
  if (lostAt === undefined) {
    lostAt = heardAt;
    document.title = 'connection lost · headgate';
    icon.href = icon.href.replace(/%23[\da-f]{6}/, '%236e7781');
    announcement.textContent = 'connection lost';
  }
  say(`No connection since ${clock.format(lostAt)}: tries again by itself. This is how the run stood then.`, 'bad');
  // A browser that was refused by an answer does not try again.
  if (source?.readyState !== EventSource.CLOSED) return;
  clearTimeout(again);
  again = setTimeout(connect, AGAIN_MS);
}

function say(words, tone = '') {
  if (connection.textContent !== words) connection.textContent = words;
  connection.className = tone;
}

function apply({ id, order, children }) {
  const parent = byId(id);
  const there = new Map([...parent.children].map((child) => [child.dataset.key, child]));
  for (const [key, text] of children) {
    const template = document.createElement('template');
    template.innerHTML = text;
    const fresh = template.content.firstElementChild;
    if (there.has(key)) change(there.get(key), fresh);
    else there.set(key, fresh);
  }
  if (order === undefined) return;
  const wanted = new Set(order);
  for (const [key, child] of there) if (!wanted.has(key)) child.remove();
  let next = parent.firstElementChild;
  for (const key of order) {
    const child = there.get(key);
    // One that has gone further down, and none but it, moves.
    if (next !== null && next !== child && next.nextElementSibling === child) {
      parent.append(next);
      next = child;
    }
    if (next === child) next = next.nextElementSibling;
    else parent.insertBefore(child, next);
  }
}

/** Makes a node as another is, and touches nothing that is so already. */
function change(node, other) {
  if (node.nodeName !== other.nodeName) return node.replaceWith(other);
  if (node.nodeType === Node.TEXT_NODE) {
    if (node.data !== other.data) node.data = other.data;
    return;
  }
  for (const { name, value } of other.attributes) if (node.getAttribute(name) !== value) node.setAttribute(name, value);
  for (const name of node.getAttributeNames()) if (!other.hasAttribute(name)) node.removeAttribute(name);
  const [old, fresh] = [[...node.childNodes], [...other.childNodes]];
  for (const [i, child] of fresh.entries()) {
    if (i < old.length) change(old[i], child);
    else node.append(child);
  }
  for (const child of old.slice(fresh.length)) child.remove();
}

let typed;
filter.addEventListener('input', () => {
  clearTimeout(typed);
  typed = setTimeout(() => {
    history.replaceState(null, '', `?${new URLSearchParams(new FormData(filter))}`);
    if (source !== undefined) connect();
  }, 150);
});
filter.addEventListener('submit', (event) => event.preventDefault());

pause.hidden = false;
pause.addEventListener('click', () => {
  const isPaused = source !== undefined;
  pause.textContent = isPaused ? 'Go on' : 'Pause';
  if (!isPaused) return connect();
  close();
  say(`Paused at ${clock.format(Date.now())}.`);
});

// A frozen process keeps its connections; so does a laptop that slept.
setInterval(() => {
  if (source === undefined || Date.now() - heardAt < SILENT_MS) return;
  lost();
  if (source?.readyState === EventSource.OPEN) connect();
}, 1_000);
connect();
