// Rules for tests. No test may depend on the machine's speed, load or size, and none may wait for a time instead of an event.

const MEASURES = new Map([
  ['performance', ['now']],
  ['Date', ['now']],
  ['process', ['cpuUsage', 'memoryUsage', 'resourceUsage', 'hrtime']],
]);

/** Names of variables and properties that hold a measured time. A rule without types can't see where another function measured it. */
const MEASURED_NAME = /^took/;

/** Whether a node is `performance.now()` or a similar call. */
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
  // The body of a function runs later, so it isn't part of the value.
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
        const isMeasured = (one) =>
          isMeasure(one) || isElapsed(one) || (one.type === 'Identifier' && (elapsed.has(one.name) || MEASURED_NAME.test(one.name)));
        if (!given.some((one) => some(one, isMeasured))) return;
        const message =
          'This expects something of the machine: time, CPU or memory. Use a virtual clock, a gate or a count, or measure it in a *.figure.test.ts.';
        context.report({ node, message });
      },
    };
  },
};

/** The local name of `setTimeout` of node:timers/promises in a module; undefined if the module doesn't import it. */
function timerName({ source, specifiers }) {
  if (!/^(?:node:)?timers\/promises$/.test(source.value)) return undefined;
  return specifiers.find(({ imported }) => imported?.name === 'setTimeout')?.local.name;
}

const isTimer = (node) => node.type === 'CallExpression' && node.callee.type === 'Identifier' && node.callee.name === 'setTimeout';

/** Whether a node is a promise that a timer resolves, such as `new Promise((resolve) => setTimeout(resolve, ms))`. */
function isTimerPromise(node) {
  if (node.type !== 'NewExpression' || node.callee.name !== 'Promise') return false;
  const [executor] = node.arguments;
  return executor?.params?.length === 1 && some(executor.body, isTimer);
}

/** Maximum interval of a polling loop whose body is a block, ms. */
const LOOK_AGAIN_MS = 20;

/** Whether a sleep is the interval of a polling loop, such as `while (!isDone) await sleep(5)`. */
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
