import { systemClock } from '@headgate/throttle';
import { ABOVE_0, type NumberChecks, numberChecks } from '@headgate/throttle/internal';
import { budgetOf, mergedBudgets, type NamedBudgets } from './budgets.ts';
import { proxyVariables } from './http/connections.ts';
import { SourceError, thrown } from './source-error.ts';
import type { AttemptEvent, Budgets, Credential, SourceOptions } from './source-options.ts';
import { VERSION } from './version.ts';

type Defaulted =
  | 'budgets'
  | 'concurrency'
  | 'timeoutMs'
  | 'maxBodyBytes'
  | 'retryForMs'
  | 'waitOutOutages'
  | 'stopAfterFailures'
  | 'maxDelayMs'
  | 'userAgent'
  | 'env'
  | 'clock'
  | 'random'
  | 'onAttempt';

/** Valid options of a source, with defaults filled in. `budgets` includes those of the definition; `onAttempt` doesn't throw. */
export type CheckedOptions = Omit<SourceOptions, 'baseUrl' | 'limit' | Defaulted> & {
  readonly [Name in Defaulted]-?: NonNullable<SourceOptions[Name]>;
} & {
  /** Scheme, host and port. */
  readonly origin: string;
  /** Path of the base address, without a slash at its end. */
  readonly basePath: string;
};

/** Maximum delay of a Node.js timer, in ms. */
const LONGEST_TIMEOUT_MS = 2 ** 31 - 1;

/** Checks a source's options, and fills in defaults. Throws a `SourceError` with `HEADGATE_INVALID_OPTION` that names the bad option. */
export function checkedOptions(service: string, options: SourceOptions, own: NamedBudgets): CheckedOptions {
  const refuse: Refuse = (option, must) => {
    throw wrongOption(service, option, must);
  };
  const { timeoutMs = 30_000, maxBodyBytes = 16 * 1024 * 1024, retryForMs = 600_000, maxDelayMs = 5_000 } = options;
  const { concurrency = Infinity, stopAfterFailures = Infinity, waitOutOutages = false } = options;
  const check = optionChecks(service);
  check.whole({ concurrency, stopAfterFailures }, 1, Infinity);
  check.number({ timeoutMs }, 1, LONGEST_TIMEOUT_MS);
  check.number({ maxBodyBytes }, 1, 2 ** 30);
  check.number({ retryForMs }, 0, Infinity);
  check.number({ maxDelayMs }, 0, LONGEST_TIMEOUT_MS);
  if (options.journal !== undefined) check.number({ 'journal.leaseMs': options.journal.leaseMs }, 0, Infinity);
  const { userAgent = `headgate/${VERSION}`, proxy, ca, env = process.env, clock = systemClock(), random = Math.random } = options;
  const budgets = mergedBudgets(own, options);
  if (Object.keys(budgets).length === 0) return refuse('limit', 'given: { requests, windowMs }');
  checkBudgets('', budgets, check, refuse);
  checkCredentials(options.credentials, budgets, check, refuse);
  if (/[^\x20-\x7e]/.test(userAgent)) refuse('userAgent', 'printable ASCII text');
  // The error doesn't quote the address, because it may contain a password.
  if (proxy !== undefined && proxy !== '' && !isProxy(proxy)) refuse('proxy', `${PROXY}, or '' for none`);
  const { dispatcher, fetch } = options;
  if (dispatcher !== undefined && fetch !== undefined) refuse('fetch', 'omitted if there is a dispatcher');
  if ((dispatcher ?? fetch) !== undefined && (proxy ?? ca) !== undefined) {
    refuse(proxy === undefined ? 'ca' : 'proxy', 'omitted if there is a dispatcher or fetch, which has its own');
  }
  if (proxy === undefined) {
    for (const [scheme, address] of Object.entries(proxyVariables(env))) {
      if (address !== '' && !isProxy(address)) refuse(`${scheme.toUpperCase()}_PROXY of the environment`, `${PROXY}, or empty for none`);
    }
  }
  return {
    ...options,
    ...checkedAddress(options.baseUrl, refuse),
    budgets,
    concurrency,
    timeoutMs,
    maxBodyBytes,
    retryForMs,
    waitOutOutages,
    stopAfterFailures,
    maxDelayMs,
    userAgent,
    env,
    clock,
    random,
    onAttempt: observer(service, options.onAttempt),
  };
}

/** Checks of a source's numbers, which throw a `SourceError`. */
export function optionChecks(service: string): NumberChecks {
  return numberChecks((option, must) => wrongOption(service, option, must));
}

function wrongOption(service: string, option: string, must: string): SourceError {
  return new SourceError({ code: 'HEADGATE_INVALID_OPTION', retryable: false, service, message: `${service}: ${option} must be ${must}` });
}

/** Wraps `onAttempt`, whose error must not lose a response that has cost a request. The first error becomes a process warning. */
function observer(service: string, onAttempt: (event: AttemptEvent) => void = () => undefined): CheckedOptions['onAttempt'] {
  let warned = false;
  return (event) => {
    try {
      onAttempt(event);
    } catch (error) {
      if (warned) return;
      warned = true;
      process.emitWarning(
        `${service}: onAttempt threw ${thrown(error)}. Requests continue. Fix onAttempt: its further errors aren't shown.`,
      );
    }
  };
}

// undici's SOCKS is experimental, and has neither our limits nor our timeouts.
const PROXY = "an http or https address such as http://127.0.0.1:3128 (SOCKS isn't supported)";

function isProxy(address: string): boolean {
  const url = URL.parse(address);
  if (url === null || !/^https?:$/.test(url.protocol) || url.port === '0') return false;
  // A password without a user wouldn't be sent.
  if (url.username === '' && url.password !== '') return false;
  try {
    decodeURIComponent(url.username + url.password);
    return true;
  } catch {
    return false;
  }
}

type Refuse = (option: string, must: string) => never;

function checkedAddress(baseUrl: string, refuse: Refuse): Pick<CheckedOptions, 'origin' | 'basePath'> {
  const url = URL.canParse(baseUrl) ? new URL(baseUrl) : refuse('baseUrl', 'an http or https address such as https://api.example.com');
  if (url.protocol !== 'http:' && url.protocol !== 'https:') refuse('baseUrl', `an http or https address, not ${url.protocol}`);
  if (url.username !== '' || url.password !== '') refuse('baseUrl', 'an address without user and password: use the option for credentials');
  if (url.search !== '' || url.hash !== '') refuse('baseUrl', 'an address without query and fragment');
  return { origin: url.origin, basePath: url.pathname.replace(/\/+$/, '') };
}

function checkCredentials(credentials: readonly Credential[], budgets: Budgets, check: NumberChecks, refuse: Refuse): void {
  if (credentials.length === 0) refuse('credentials', 'one or more of { name, signer }');
  const names = new Set<string>();
  for (const { name, budgets: own = {} } of credentials) {
    if (name === '') refuse('credentials', 'named: a name is empty');
    if (names.has(name)) refuse('credentials', `named differently: ${JSON.stringify(name)} occurs twice`);
    names.add(name);
    const unknown = Object.keys(own).find((budget) => !Object.hasOwn(budgets, budget));
    if (unknown !== undefined) {
      refuse(
        `credentials ${name}: budgets`,
        `one of the source's budgets, ${Object.keys(budgets).join(', ')}, not ${JSON.stringify(unknown)}`,
      );
    }
    const shared = Object.keys(own).find((budget) => budgets[budget]?.shared === true || own[budget]?.shared === true);
    if (shared !== undefined) refuse(`credentials ${name}: budgets.${shared}`, 'left to the source: it is one limit over all credentials');
    checkBudgets(`credentials ${name}: `, own, check, refuse);
  }
}

function checkBudgets(where: string, budgets: Budgets, check: NumberChecks, refuse: Refuse): void {
  for (const [name, budget] of Object.entries(budgets)) {
    const option = `${where}${name === 'rate' ? 'limit' : `budgets.${name}`}`;
    check.whole({ [`${option}.requests`]: budget.requests }, 1);
    if ('windowMs' in budget) {
      check.number({ [`${option}.windowMs`]: budget.windowMs }, ABOVE_0);
      continue;
    }
    if (budget.resetsOn !== undefined) check.whole({ [`${option}.resetsOn`]: budget.resetsOn }, 1, 31);
    try {
      budgetOf(budget, { clock: systemClock() });
    } catch (error) {
      refuse(option, `a quota with a valid reset time, day and zone: ${error instanceof RangeError ? error.message : String(error)}`);
    }
  }
}
