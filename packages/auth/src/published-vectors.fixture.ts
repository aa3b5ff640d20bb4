import type { SignableRequest } from './signer.ts';

export interface PublishedVector {
  readonly from: string;
  readonly request: SignableRequest;
  readonly protocol: Readonly<Record<string, string>>;
  readonly consumerSecret: string;
  readonly tokenSecret: string;
  readonly baseString?: string;
  readonly signature: string;
}

const form = 'application/x-www-form-urlencoded';

export const publishedVectors: readonly PublishedVector[] = [
  {
    from: 'RFC 5849, section 1.2, temporary credentials',
    request: { method: 'POST', url: 'https://photos.example.net/initiate' },
    protocol: {
      oauth_consumer_key: 'dpf43f3p2l4k3l03',
      oauth_signature_method: 'HMAC-SHA1',
      oauth_timestamp: '137131200',
      oauth_nonce: 'wIjqoS',
      oauth_callback: 'http://printer.example.com/ready',
    },
    consumerSecret: 'kd94hf93k423kf44',
    tokenSecret: '',
    signature: '74KNZJeDHnMBp0EMJ9ZHt/XKycU=',
  },
  {
    from: 'RFC 5849, section 1.2, token credentials',
    request: { method: 'POST', url: 'https://photos.example.net/token' },
    protocol: {
      oauth_consumer_key: 'dpf43f3p2l4k3l03',
      oauth_token: 'hh5s93j4hdidpola',
      oauth_signature_method: 'HMAC-SHA1',
      oauth_timestamp: '137131201',
      oauth_nonce: 'walatlh',
      oauth_verifier: 'hfdp7dh39dks9884',
    },
    consumerSecret: 'kd94hf93k423kf44',
    tokenSecret: 'hdhd0244k9j7ao03',
    signature: 'gKgrFCywp7rO0OXSjdot/IHF7IU=',
  },
  {
    from: 'RFC 5849, section 1.2, the photograph',
    request: { method: 'GET', url: 'http://photos.example.net/photos?file=vacation.jpg&size=original' },
    protocol: {
      oauth_consumer_key: 'dpf43f3p2l4k3l03',
      oauth_token: 'nnch734d00sl2jdk',
      oauth_signature_method: 'HMAC-SHA1',
      oauth_timestamp: '137131202',
      oauth_nonce: 'chapoH',
    },
    consumerSecret: 'kd94hf93k423kf44',
    tokenSecret: 'pfkkdhi9sl3r4s00',
    signature: 'MdpQcU8iPSUjWoN/UDMsK2sui9I=',
  },
  {
    // The RFC prints a wrong signature. This one is from the verified erratum.
    from: 'RFC 5849, section 3.4.1.1',
    request: { method: 'POST', url: 'http://EXAMPLE.COM:80/request?b5=%3D%253D&a3=a&c%40=&a2=r%20b', body: 'c2&a3=2+q', contentType: form },
    protocol: {
      oauth_consumer_key: '9djdj82h48djs9d2',
      oauth_token: 'kkk9d7dh3k39sjv7',
      oauth_signature_method: 'HMAC-SHA1',
      oauth_timestamp: '137131201',
      oauth_nonce: '7d8f3e4a',
    },
    consumerSecret: 'j49sk3j29djd',
    tokenSecret: 'dh893hdasih9',
    baseString:
      'POST&http%3A%2F%2Fexample.com%2Frequest&a2%3Dr%2520b%26a3%3D2%2520q%26a3%3Da%26b5%3D%253D%25253D%26c%2540%3D%26c2%3D' +
      '%26oauth_consumer_key%3D9djdj82h48djs9d2%26oauth_nonce%3D7d8f3e4a%26oauth_signature_method%3DHMAC-SHA1' +
      '%26oauth_timestamp%3D137131201%26oauth_token%3Dkkk9d7dh3k39sjv7',
    signature: 'r6/TJjbCOr97/+UU0NsvSne7s5g=',
  },
  {
    from: 'OAuth Core 1.0, appendix A.5',
    request: { method: 'GET', url: 'http://photos.example.net/photos?file=vacation.jpg&size=original' },
    protocol: {
      oauth_consumer_key: 'dpf43f3p2l4k3l03',
      oauth_token: 'nnch734d00sl2jdk',
      oauth_signature_method: 'HMAC-SHA1',
      oauth_timestamp: '1191242096',
      oauth_nonce: 'kllo9940pd9333jh',
      oauth_version: '1.0',
    },
    consumerSecret: 'kd94hf93k423kf44',
    tokenSecret: 'pfkkdhi9sl3r4s00',
    baseString:
      'GET&http%3A%2F%2Fphotos.example.net%2Fphotos&file%3Dvacation.jpg%26oauth_consumer_key%3Ddpf43f3p2l4k3l03' +
      '%26oauth_nonce%3Dkllo9940pd9333jh%26oauth_signature_method%3DHMAC-SHA1%26oauth_timestamp%3D1191242096' +
      '%26oauth_token%3Dnnch734d00sl2jdk%26oauth_version%3D1.0%26size%3Doriginal',
    signature: 'tR3+Ty81lMeYAr/Fid0kMTYa/WM=',
  },
];

/** The OAuth community's test cases for encoding a name or a value (OAuth Core 1.0, section 5.1). */
export const publishedEncodings: readonly (readonly [text: string, encoded: string])[] = [
  ['abcABC123', 'abcABC123'],
  ['-._~', '-._~'],
  ['%', '%25'],
  ['+', '%2B'],
  ['&=*', '%26%3D%2A'],
  ['\u000a', '%0A'],
  ['\u0020', '%20'],
  ['\u007f', '%7F'],
  ['\u0080', '%C2%80'],
  ['\u3001', '%E3%80%81'],
];

/** The OAuth community's test cases for normalizing parameters (OAuth Core 1.0, section 9.1.1). */
export const publishedNormalisations: readonly (readonly [form: string, normalised: string])[] = [
  ['name', 'name='],
  ['a=b', 'a=b'],
  ['a=b&c=d', 'a=b&c=d'],
  ['a=x!y&a=x+y', 'a=x%20y&a=x%21y'],
  ['x!y=a&x=a', 'x=a&x%21y=a'],
];
