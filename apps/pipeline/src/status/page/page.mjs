// Asks for the screen of the run (page-screen.ts) and draws it. Existing elements are changed in place, to keep selection, focus and scroll position.
const byId = (id) => document.getElementById(id);
const [connection, announcement, pause, filter] = ['connection', 'announcement', 'pause', 'filter'].map(byId);
const icon = document.querySelector('link[rel=icon]');
const clock = new Intl.DateTimeFormat('en-GB', { timeStyle: 'medium' });

const EVERY_MS = 1_000;
/** Maximum time for a response, ms. A frozen process accepts connections and doesn't respond. */
const SILENT_MS = 10_000;

const COLORS = { good: '1f9d4d', wait: 'd98200', bad: 'd1242f' };

function iconOf(tone) {
  const dot = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 16 16"><circle cx="8" cy="8" r="7" fill="#${COLORS[tone] ?? '6e7781'}"/></svg>`;
  return `data:image/svg+xml,${encodeURIComponent(dot)}`;
}

/** Creates an element. Values become text and attributes, never markup. */
function h(tag, attributes, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) if (value !== undefined && value !== '') node.setAttribute(name, value);
  node.append(...children.flat().filter((child) => child !== ''));
  return node;
}

function bar(share, name) {
  if (share === undefined) return '';
  const value = (100 * Math.min(1, Math.max(0, share))).toFixed(1);
  return h('progress', { max: 100, value, 'aria-label': name, 'aria-valuetext': `${Number(value)} %` });
}

const row = (key, name, ...cells) => h('tr', { 'data-key': key }, h('th', { scope: 'row' }, name), cells);
const cell = (value, classes) => h('td', { class: classes }, value);
const note = (words, tone = '') => cell(words, `note ${tone}`.trim());
const lines = (key, said) =>
  h(
    'p',
    { 'data-key': key },
    said.flatMap((words) => [h('span', {}, words), ' ']),
  );

/** Functions that create the content of the page's elements, by the elements' IDs. */
const PARTS = {
  head: ({ state, run, totals, progress }) => [
    h('h1', { 'data-key': 'state' }, 'headgate ', h('span', { class: `chip ${state.tone ?? ''}`.trim() }, state.words)),
    lines('ran', run),
    lines('totals', totals),
    ...(progress.words === ''
      ? []
      : [h('p', { 'data-key': 'progress', class: 'whole' }, bar(progress.share, 'all requests'), h('strong', {}, progress.words))]),
  ],
  notes: ({ faults, notes }) => [...faults, ...notes].map(({ words, tone }, i) => h('li', { 'data-key': i, class: tone }, words)),
  budgets: ({ budgets }) =>
    budgets.map(({ name, share, progress, window, note: next, why, tone }, i) =>
      row(i, name, cell(bar(share, name), 'bar'), cell(`${progress.trim()} ${window}`), note([next, why].filter(Boolean).join(', '), tone)),
    ),
  work: ({ rows }) =>
    rows.map(({ key, name, share, progress, amount, note: now, tone }) =>
      row(key, name, cell(bar(share, name), 'bar'), cell(progress), cell(amount, 'amount'), note(now, tone)),
    ),
  'work-rest': ({ rest }) => (rest === '' ? [] : [h('p', { 'data-key': 'rest' }, rest)]),
  faults: ({ errors }) =>
    errors.map(({ key, name, cells: [times, first, last, reason], isOngoing }) =>
      row(key, name, cell(times), cell(first, 'first'), cell(last, isOngoing ? 'bad' : ''), note(reason)),
    ),
  replays: ({ deadLetterLines, retries }) => [
    ...deadLetterLines.map((words) => h('p', { 'data-key': words, class: 'bad' }, words)),
    ...retries.map((command) => h('p', { 'data-key': command }, 'To retry: ', h('code', {}, command))),
  ],
  'dead-letters': ({ deadLetters }) =>
    deadLetters.map(({ key, name, cells: [at, code, reason, topic] }) => row(key, name, cell(at), cell(code), note(reason), cell(topic))),
  events: ({ events }) =>
    events.map(({ key, at, words, tone }) => h('li', { 'data-key': key, class: tone }, h('time', {}, at), ` ${words}`)),
  about: ({ about }) => about.map(([name, value], i) => h('div', { 'data-key': i }, h('dt', {}, name), h('dd', {}, value))),
};

let heardAt = Date.now();
let lostAt;
let kind;
let next;
/** Number of the latest look. The answers to earlier ones are ignored. */
let looks = 0;
let isPaused = false;

/** Asks for the screen now, and again each second. */
async function look() {
  clearTimeout(next);
  looks += 1;
  const own = looks;
  const answer = await screenNow().catch(() => undefined);
  if (own !== looks) return;
  if (answer === undefined) lost();
  else show(answer);
  next = setTimeout(() => void look(), EVERY_MS);
}

async function screenNow() {
  const response = await fetch(`screen.json${location.search}`, { signal: AbortSignal.timeout(SILENT_MS) });
  return response.ok ? await response.json() : undefined;
}

function show({ version, screen }) {
  // The page comes from another version of Headgate than the run.
  if (version !== document.documentElement.dataset.version) return location.reload();
  heardAt = Date.now();
  for (const [id, draw] of Object.entries(PARTS)) update(byId(id), draw(screen));
  document.title = screen.title;
  icon.href = iconOf(screen.state.tone);
  // If only the end of a wait changes, screen readers don't announce it again.
  const { kind: isNow, words } = screen.state;
  if (kind !== undefined && (kind !== isNow || lostAt !== undefined)) announcement.textContent = words;
  kind = isNow;
  lostAt = undefined;
  pause.hidden = hasEnded();
  say(hasEnded() ? 'The run has ended: this is how it stood then.' : 'Live');
}

/** Whether the run has ended. Another run may then start at the same address. */
function hasEnded() {
  return ['done', 'stopped', 'failed'].includes(kind);
}

function lost() {
  if (hasEnded()) return;
  if (lostAt === undefined) {
    lostAt = heardAt;
    document.title = 'connection lost · headgate';
    icon.href = iconOf();
    announcement.textContent = 'connection lost';
  }
  say(`No connection since ${clock.format(lostAt)}. Trying again. The page shows the run as it was then.`, 'bad');
}

function say(words, tone = '') {
  if (connection.textContent !== words) connection.textContent = words;
  connection.className = tone;
}

/** Replaces an element's children with these, which have keys. Reuses the nodes that are already there. */
function update(parent, children) {
  const existing = new Map([...parent.children].map((child) => [child.dataset.key, child]));
  const wanted = children.map((fresh) => {
    const child = existing.get(fresh.dataset.key);
    existing.delete(fresh.dataset.key);
    if (child === undefined) return fresh;
    change(child, fresh);
    return child;
  });
  for (const child of existing.values()) child.remove();
  let next = parent.firstElementChild;
  for (const child of wanted) {
    // If one child has moved down, move only that child, not all those that follow it.
    if (next !== null && next !== child && next.nextElementSibling === child) {
      parent.append(next);
      next = child;
    }
    if (next === child) next = next.nextElementSibling;
    else parent.insertBefore(child, next);
  }
}

/** Makes a node equal to another one, and leaves alone what is already equal. */
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

// The address contains the filter.
const query = new URLSearchParams(location.search);
for (const field of filter.elements) {
  const value = query.get(field.name);
  const isKnown = field.options === undefined || [...field.options].some((option) => option.value === value);
  if (value !== null && isKnown) field.value = value;
}

let typed;
filter.addEventListener('input', () => {
  clearTimeout(typed);
  typed = setTimeout(() => {
    history.replaceState(null, '', `?${new URLSearchParams(new FormData(filter))}`);
    if (!isPaused) void look();
  }, 150);
});
filter.addEventListener('submit', (event) => event.preventDefault());

pause.addEventListener('click', () => {
  isPaused = !isPaused;
  pause.textContent = isPaused ? 'Go on' : 'Pause';
  if (!isPaused) return void look();
  clearTimeout(next);
  looks += 1;
  return say(`Paused at ${clock.format(Date.now())}.`);
});

pause.hidden = false;
void look();
