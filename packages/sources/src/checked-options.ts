import { type Clock, type Journal, systemClock } from '@headgate/throttle';
import { budgetOf, mergedBudgets, type NamedBudgets } from './budgets.ts';
import { proxyVariables } from './http/connections.ts';
import type { RequestAllowance } from './request-allowance.ts';
import { readable, SourceError, thrown } from './source-error.ts';
import type { AttemptEvent, Budgets, Credential, SourceOptions } from './source-options.ts';
import { VERSION } from './version.ts';

/** Valid options of a source, with defaults filled in. */
export interface CheckedOptions {
  /** Scheme, host and port. */
  readonly origin: string;
  /** Path of the base address, without a slash at its end. */
  readonly basePath: string;
  readonly credentials: readonly Credential[];
  /** The budgets of the source by name. A credential may replace those that aren't shared. */
  readonly budgets: Budgets;
  readonly concurrency: number;
  readonly timeoutMs: number;
  readonly maxBodyBytes: number;
  readonly retryForMs: number;
  readonly waitOutOutages: boolean;
  readonly stopAfterFailures: number;
  readonly allowance: RequestAllowance | undefined;
  readonly maxDelayMs: number;
  readonly userAgent: string;
  readonly proxy: string | undefined;
  readonly ca: string | undefined;
  readonly dispatcher: SourceOptions['dispatcher'];
  readonly fetch: SourceOptions['fetch'];
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly clock: Clock;
  readonly random: () => number;
  readonly journal: Journal | undefined;
  /** Calls the option `onAttempt`, and catches its errors. */
  readonly onAttempt: (event: AttemptEvent) => void;
}

/** Maximum delay of a Node.js timer, in ms. */
const LONGEST_TIMEOUT_MS = 2 ** 31 - 1;

/** Checks a source's options, and fills in defaults. Throws a `SourceError` with `HEADGATE_INVALID_OPTION` that names the bad option. */
export function checkedOptions(service: string, options: SourceOptions, own: NamedBudgets): CheckedOptions {
  const refuse: Refuse = (option, must) => {
    throw new SourceError({ code: 'HEADGATE_INVALID_OPTION', retryable: false, service, message: `${service}: ${option} must be ${must}` });
  };
  const between = (option: string, value: number, least: number, most: number): number =>
    value >= least && value <= most ? value : refuse(option, `a number from ${least} to ${most}, got ${value}`);
  const whole = (option: string, value: number): number =>
    value >= 1 && (Number.isSafeInteger(value) || value === Infinity) ? value : refuse(option, `a whole number from 1, got ${value}`);
  const { timeoutMs = 30_000, maxBodyBytes = 16 * 1024 * 1024, retryForMs = 600_000, maxDelayMs = 5_000 } = options;
  const { userAgent = `headgate/${VERSION}`, proxy, ca, env = process.env, clock = systemClock(), random = Math.random } = options;
  const budgets = mergedBudgets(own, options);
  if (Object.keys(budgets).length === 0) return refuse('limit', 'given: { requests, windowMs }');
  checkBudgets('', budgets, refuse);
  checkCredentials(options.credentials, budgets, refuse);
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
    ...checkedAddress(options.baseUrl, refuse),
    credentials: options.credentials,
    budgets,
    concurrency: whole('concurrency', options.concurrency ?? Infinity),
    timeoutMs: between('timeoutMs', timeoutMs, 1, LONGEST_TIMEOUT_MS),
    maxBodyBytes: between('maxBodyBytes', maxBodyBytes, 1, 2 ** 30),
    retryForMs: between('retryForMs', retryForMs, 0, Infinity),
    waitOutOutages: options.waitOutOutages ?? false,
    stopAfterFailures: between('stopAfterFailures', options.stopAfterFailures ?? Infinity, 1, Infinity),
    allowance: options.allowance,
    maxDelayMs: between('maxDelayMs', maxDelayMs, 0, LONGEST_TIMEOUT_MS),
    userAgent,
    proxy,
    ca,
    dispatcher,
    fetch,
    env,
    clock,
    random,
    journal: options.journal,
    onAttempt: observer(service, options.onAttempt),
  };
}

/** Throws a `SourceError` for an invalid share of the turns. */
export function checkShare(service: string, share: number): void {
  if (share > 0 && share < Infinity) return;
  const message = `${service}: share must be a number above 0, got ${share}`;
  throw new SourceError({ code: 'HEADGATE_INVALID_OPTION', retryable: false, service, message });
}

/** Wraps `onAttempt`, whose error must not lose a response that has cost a request. The first error becomes a process warning. */
export function observer(service: string, onAttempt: (event: AttemptEvent) => void = () => undefined): CheckedOptions['onAttempt'] {
  let warned = false;
  return (event) => {
    try {
      onAttempt(event);
    } catch (error) {
      if (warned) return;
      warned = true;
      process.emitWarning(
        `${service}: onAttempt threw ${thrown(readable(error))}. Requests continue. Fix onAttempt: its further errors aren't shown.`,
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

function checkCredentials(credentials: readonly Credential[], budgets: Budgets, refuse: Refuse): void {
  // Plain JavaScript and configuration files aren't type-checked.
  if (!Array.isArray(credentials) || credentials.length === 0) refuse('credentials', 'one or more of { name, signer }');
  const names = new Set<string>();
  for (const { name, signer, budgets: own = {} } of credentials) {
    if (name === '') refuse('credentials', 'named: a name is empty');
    if (names.has(name)) refuse('credentials', `named differently: ${JSON.stringify(name)} occurs twice`);
    names.add(name);
    if (typeof signer?.sign !== 'function') refuse(`credentials ${name}: signer`, 'one of @headgate/auth, such as bearer(token)');
    const unknown = Object.keys(own).find((budget) => !Object.hasOwn(budgets, budget));
    if (unknown !== undefined) {
      refuse(
        `credentials ${name}: budgets`,
        `one of the source's budgets, ${Object.keys(budgets).join(', ')}, not ${JSON.stringify(unknown)}`,
      );
    }
    const shared = Object.keys(own).find((budget) => budgets[budget]?.shared === true || own[budget]?.shared === true);
    if (shared !== undefined) refuse(`credentials ${name}: budgets.${shared}`, 'left to the source: it is one limit over all credentials');
    checkBudgets(`credentials ${name}: `, own, refuse);
  }
}

function checkBudgets(where: string, budgets: Budgets, refuse: Refuse): void {
  for (const [name, budget] of Object.entries(budgets)) {
    const { requests } = budget;
    const option = `${where}${name === 'rate' ? 'limit' : `budgets.${name}`}`;
    if (!Number.isSafeInteger(requests) || requests < 1) refuse(option, `a whole number of requests above 0, got ${requests}`);
    if ('windowMs' in budget) {
      if (!(budget.windowMs > 0 && budget.windowMs < Infinity)) refuse(option, `a window of more than 0 ms, got ${budget.windowMs}`);
      continue;
    }
    // Plain JavaScript and configuration files aren't type-checked.
    if (!['day', 'month'].includes(budget.per)) refuse(option, 'per day or month, or have a windowMs');
    try {
      budgetOf(budget, { clock: systemClock() });
    } catch (error) {
      refuse(option, `a quota with a valid reset time, day and zone: ${error instanceof RangeError ? error.message : String(error)}`);
    }
  }
}
