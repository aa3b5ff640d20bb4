// Rules for tests: none judges by how fast, how busy or how large the machine is, and none waits for a time rather than for a thing.

const MEASURES = new Map([
  ['performance', ['now']],
  ['Date', ['now']],
  ['process', ['cpuUsage', 'memoryUsage', 'resourceUsage', 'hrtime']],
]);

/** `performance.now()` and the like. */
function isMeasure(node) {
  if (node.type !== 'CallExpression' || node.callee.type !== 'MemberExpression') return false;
  const { object, property } = node.callee;
  return object.type === 'Identifier' && property.type === 'Identifier' && (MEASURES.get(object.name)?.includes(property.name) ?? false);
}

function some(node, isWanted) {
  if (node === null || typeof node !== 'object') return false;
  if (Array.isArray(node)) return node.some((one) => some(one, isWanted));
  if (typeof node.type !== 'string') return false;
  if (isWanted(node)) return true;
  // What is done later is no part of the value.
  if (/Function/.test(node.type)) return false;
  return Object.entries(node).some(([key, value]) => key !== 'parent' && some(value, isWanted));
}

const noMachineTime = {
  create(context) {
    const [elapsed, instants] = [new Set(), new Set()];
    const isInstant = (one) => isMeasure(one) || (one.type === 'Identifier' && instants.has(one.name));
    const isElapsed = (one) => one.type === 'BinaryExpression' && one.operator === '-' && some([one.left, one.right], isInstant);
    return {
      VariableDeclarator({ id, init }) {
        if (id.type !== 'Identifier' || init === null) return;
        if (isMeasure(init)) instants.add(id.name);
        else if (some(init, isElapsed)) elapsed.add(id.name);
      },
      CallExpression(node) {
        const { callee, arguments: given } = node;
        if (callee.type !== 'Identifier' || callee.name !== 'expect') return;
        const isMeasured = (one) => isMeasure(one) || isElapsed(one) || (one.type === 'Identifier' && elapsed.has(one.name));
        if (!given.some((one) => some(one, isMeasured))) return;
        const message =
          'This expects something of the machine: time, CPU or memory. Use a virtual clock, a gate or a count, or measure it in a *.figure.test.ts.';
        context.report({ node, message });
      },
    };
  },
};

/** The name that the module has the promise of a timer by. */
function timerName({ source, specifiers }) {
  if (!/^(?:node:)?timers\/promises$/.test(source.value)) return undefined;
  return specifiers.find(({ imported }) => imported?.name === 'setTimeout')?.local.name;
}

const isTimer = (node) => node.type === 'CallExpression' && node.callee.type === 'Identifier' && node.callee.name === 'setTimeout';

/** `new Promise((resolve) => setTimeout(resolve, ms))` */
function isTimerPromise(node) {
  if (node.type !== 'NewExpression' || node.callee.name !== 'Promise') return false;
  const [executor] = node.arguments;
  return executor?.params?.length === 1 && some(executor.body, isTimer);
}

/** Between two looks at a thing that is waited for, ms at most. */
const LOOK_AGAIN_MS = 20;

/** `while (!isDone) await sleep(5)`: it waits for a thing, and looks again now and then. */
function isLookingAgain({ parent, argument }) {
  if (parent.type === 'ForStatement') return true;
  const { type } = parent.parent;
  if (type === 'WhileStatement' || type === 'DoWhileStatement') return true;
  const [ms] = argument.arguments;
  if (ms?.type !== 'Literal' || ms.value > LOOK_AGAIN_MS) return false;
  for (let around = parent; around !== null && !/Function/.test(around.type); around = around.parent) {
    if (/^(?:For|While|DoWhile)Statement$/.test(around.type)) return true;
  }
  return false;
}

const noSleep = {
  create(context) {
    let timer;
    return {
      ImportDeclaration(node) {
        timer ??= timerName(node);
      },
      AwaitExpression(node) {
        const { argument } = node;
        const isSleep = argument.type === 'CallExpression' && argument.callee.type === 'Identifier' && argument.callee.name === timer;
        if ((!isSleep && !isTimerPromise(argument)) || isLookingAgain(node)) return;
        const message =
          'This waits for a time. Wait for what has to happen: expect.poll, an event, a gate that the test opens, or a virtual clock.';
        context.report({ node, message });
      },
    };
  },
};

// eslint-disable-next-line import/no-default-export -- as oxlint loads plugins
export default { meta: { name: 'machine' }, rules: { 'no-machine-time': noMachineTime, 'no-sleep': noSleep } };
