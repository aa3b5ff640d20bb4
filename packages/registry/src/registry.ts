import { request as httpRequest } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { text } from 'node:stream/consumers';
import type { Serialize, SerializeContext } from '@headgate/pipeline';
import { redaction } from '@headgate/sources';
import { avroCodec } from './avro.ts';
import type { Codec } from './codec.ts';
import { protobufCodec } from './protobuf.ts';

/** Options of {@link schemaRegistry}. */
export interface SchemaRegistryOptions {
  /** Address of the registry, with the path of its Confluent API, such as `http://127.0.0.1:8081`. */
  readonly url: string;
  /** User and password of the registry. Default: none. */
  readonly user?: string | undefined;
  /** Called for each request. */
  readonly password?: (() => string) | undefined;
  /** Bearer token, instead of a user. Called for each request. */
  readonly bearer?: (() => string) | undefined;
  /** Certificate of the registry's own certificate authority, as PEM text. */
  readonly ca?: string | undefined;
  /** Whether to register missing schemas when a run starts. If not, they must exist. Default: true. */
  readonly register?: boolean | undefined;
}

/** Thrown if a schema registry can't be reached, or refuses a request. No message contains a secret. */
export class RegistryError extends Error {
  /** Stays the same if a bundler renames classes. */
  override readonly name = 'RegistryError';
  /** Identifies the kind of error. */
  readonly code = 'HEADGATE_REGISTRY';
  /** Status of the response; undefined if there is none. */
  readonly status: number | undefined;
  /** True if the same call may succeed later without any change. */
  readonly retryable: boolean;

  constructor(message: string, status: number | undefined, options?: ErrorOptions) {
    super(message, options);
    this.status = status;
    this.retryable = status === undefined || status >= 500 || status === 429;
  }
}

/** A schema registry with Confluent's API. Keeps the schemas that it has read or registered. */
export interface SchemaRegistry {
  /**
   * A topic's `serialize`, which writes values in the registry's wire format. A run that starts registers the schema under `<topic>-value`, or
   * looks it up. If that fails, `start` rejects.
   */
  serializer(codec: Codec): { open(context: SerializeContext): Promise<Serialize<unknown>> };
  /** Rejects with a {@link RegistryError} if a run with this schema couldn't start. Registers nothing. */
  check(topic: string, codec: Codec, signal?: AbortSignal): Promise<void>;
  /** The JSON of bytes in the wire format; other bytes unchanged, also those whose schema the registry doesn't have. */
  decoded(bytes: Uint8Array, signal?: AbortSignal): Promise<Uint8Array>;
}

/** First byte of the wire format. The schema's ID follows in 4 bytes, big-endian. */
const MAGIC = 0;
const HEADER_BYTES = 5;
/** Maximum time for a response, ms. */
const ANSWER_WITHIN_MS = 10_000;

/** Creates the client of a registry. Sends no request yet. Throws a `TypeError` for an address with a password, which errors would show. */
export function schemaRegistry(options: SchemaRegistryOptions): SchemaRegistry {
  if (new URL(options.url).password !== '') throw new TypeError('url: contains a password. Pass user and password.');
  const codecs = new Map<number, Promise<Codec | undefined>>();

  const idOf = async (topic: string, codec: Codec, signal?: AbortSignal): Promise<number> => {
    const subject = `${topic}-value`;
    const path = `/subjects/${encodeURIComponent(subject)}${options.register === false ? '' : '/versions'}`;
    const { id } = await sent(options, path, subject, signal, schemaOf(codec));
    if (typeof id !== 'number') throw new RegistryError(`The schema registry at ${options.url} responded without an ID. ${IS_IT}`, 200);
    return id;
  };

  const read = async (id: number, signal?: AbortSignal): Promise<Codec | undefined> => {
    try {
      const { schema, schemaType, references } = await sent(options, `/schemas/ids/${id}`, undefined, signal);
      if (typeof schema !== 'string' || (Array.isArray(references) && references.length > 0)) return undefined;
      return codecIn(schemaType, schema);
    } catch (error) {
      if (error instanceof RegistryError && error.status === 404) return undefined;
      codecs.delete(id);
      throw error;
    }
  };

  const codecFor = (id: number, signal?: AbortSignal): Promise<Codec | undefined> => {
    const known = codecs.get(id) ?? read(id, signal);
    codecs.set(id, known);
    return known;
  };

  return {
    serializer: (codec) => ({
      async open({ topic, signal }) {
        const id = await idOf(topic, codec, signal);
        codecs.set(id, Promise.resolve(codec));
        const header = Buffer.alloc(HEADER_BYTES, MAGIC);
        header.writeInt32BE(id, 1);
        return (value) => Buffer.concat([header, codec.encode(value)]);
      },
    }),
    async check(topic, codec, signal) {
      if (options.register === false) return void (await idOf(topic, codec, signal));
      const subject = `${topic}-value`;
      const path = `/compatibility/subjects/${encodeURIComponent(subject)}/versions/latest?verbose=true`;
      const answer = await sent(options, path, subject, signal, schemaOf(codec)).catch((error: unknown): Answer => {
        // The subject is new.
        if (error instanceof RegistryError && error.status === 404) return {};
        throw error;
      });
      if (answer.is_compatible === false) throw refusal(options, 409, subject, answer.messages?.join('; ') ?? '');
    },
    async decoded(bytes, signal) {
      if (bytes[0] !== MAGIC || bytes.length < HEADER_BYTES) return bytes;
      const id = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).readInt32BE(1);
      const codec = await codecFor(id, signal);
      return codec === undefined ? bytes : Buffer.from(codec.decode(bytes.subarray(HEADER_BYTES)));
    },
  };
}

/** Codec of JSON with a schema, which isn't checked: the schema only informs consumers. */
export function jsonCodec(schema: string): Codec {
  return {
    type: 'JSON',
    schema,
    flaw: () => undefined,
    encode: (value) => Buffer.from(JSON.stringify(value)),
    decode: (bytes) => new TextDecoder().decode(bytes),
  };
}

function codecIn(type: unknown, schema: string): Codec {
  if (type === 'PROTOBUF') return protobufCodec(schema);
  return type === 'JSON' ? jsonCodec(schema) : avroCodec(schema);
}

/** The schema as requests have it. Avro is the default, and older registries don't know its name. */
function schemaOf({ schema, type }: Codec): object {
  return type === 'AVRO' ? { schema } : { schema, schemaType: type };
}

interface Answer {
  readonly id?: unknown;
  readonly schema?: unknown;
  readonly schemaType?: unknown;
  readonly references?: unknown;
  readonly is_compatible?: unknown;
  readonly messages?: readonly string[];
  readonly message?: unknown;
}

const IS_IT = 'Is this the address of its Confluent API?';

/** `subject`: the one that the path names. */
async function sent(
  options: SchemaRegistryOptions,
  path: string,
  subject: string | undefined,
  signal?: AbortSignal,
  body?: object,
): Promise<Answer> {
  const { url } = options;
  const limit = AbortSignal.timeout(ANSWER_WITHIN_MS);
  const answer = await exchange(options, path, signal === undefined ? limit : AbortSignal.any([signal, limit]), body).catch(
    (cause: unknown) => {
      signal?.throwIfAborted();
      const why = limit.aborted ? `sent no response within ${ANSWER_WITHIN_MS / 1_000} s` : `can't be reached (${codeOf(cause)})`;
      throw new RegistryError(`The schema registry at ${url} ${why}. Start it, or correct its address.`, undefined, { cause });
    },
  );
  let parsed: Answer = {};
  try {
    parsed = Object(JSON.parse(answer.body)) as Answer;
  } catch {
    if (answer.status === 200) throw new RegistryError(`The response of the schema registry at ${url} isn't JSON. ${IS_IT}`, 200);
  }
  if (answer.status === 200) return parsed;
  throw refusal(options, answer.status, subject, typeof parsed.message === 'string' ? parsed.message : '');
}

function codeOf(error: unknown): string {
  const { code, message } = Object(error) as { readonly code?: string; readonly message?: string };
  return code ?? message ?? 'unknown';
}

/** The error for a response other than 200. `words`: what the registry says. */
function refusal(options: SchemaRegistryOptions, status: number, subject: string | undefined, words: string): RegistryError {
  const secrets = [options.password, options.bearer].flatMap((read) => (read === undefined ? [] : [read()]));
  const hidden = redaction(secrets);
  // A short secret counts as a word, so the redaction keeps it.
  const isKept = secrets.some((secret) => hidden(secret) === secret);
  const said = words === '' || isKept ? '' : ` It says: ${hidden(words)}`;
  return new RegistryError(`The schema registry at ${options.url}: ${meaningOf(status, subject)}${said}`, status);
}

/** What a status means, and what to do. */
function meaningOf(status: number, subject: string | undefined): string {
  if (status === 401 || status === 403) return `it refuses these credentials (${status}). Correct user and password, or the bearer token.`;
  if (status === 404 && subject !== undefined) return `it has no such schema under ${subject}. Register it, or let a run do so.`;
  if (status === 409)
    return `the schema isn't compatible with the earlier ones of ${subject}. Change the schema back, or the compatibility of ${subject}.`;
  if (status === 422) return `it refuses the schema of ${subject}. Correct the schema.`;
  return `it responded with status ${status}. ${status >= 500 ? 'Try again later.' : IS_IT}`;
}

async function exchange(
  { url, user, password, bearer, ca }: SchemaRegistryOptions,
  path: string,
  signal: AbortSignal,
  body?: object,
): Promise<{ readonly status: number; readonly body: string }> {
  const address = new URL(url.replace(/\/$/, '') + path);
  const basic = user === undefined ? undefined : `Basic ${Buffer.from(`${user}:${password?.() ?? ''}`).toString('base64')}`;
  const authorization = bearer === undefined ? basic : `Bearer ${bearer()}`;
  const headers = {
    accept: 'application/vnd.schemaregistry.v1+json, application/json',
    'content-type': 'application/vnd.schemaregistry.v1+json',
    ...(authorization !== undefined && { authorization }),
  };
  const send = address.protocol === 'https:' ? httpsRequest : httpRequest;
  return await new Promise((resolve, reject) => {
    const method = body === undefined ? 'GET' : 'POST';
    // Without an agent, each request has a new connection: a kept one can be closed by then.
    const request = send(address, { method, headers, signal, agent: false, ...(ca !== undefined && { ca }) }, (response) => {
      text(response).then((whole) => resolve({ status: response.statusCode ?? 0, body: whole }), reject);
    });
    request.on('error', reject);
    request.end(body === undefined ? undefined : JSON.stringify(body));
  });
}
