import fc from 'fast-check'
import { anyCharacter, anyText, PROTOTYPE_NAMES } from './texts.ts'

const METHODS = [
  'GET',
  'POST',
  'HEAD',
  'OPTIONS',
  'PUT',
  'DELETE',
  'PATCH',
  'TRACE',
  'PROPFIND',
  'get',
  '',
  '*',
]
export const method = fc.oneof(
  { weight: 6, arbitrary: fc.constantFrom('GET', 'POST', 'HEAD', 'DELETE') },
  { weight: 2, arbitrary: fc.constantFrom(...METHODS, ...PROTOTYPE_NAMES) },
)

const percent = (character: string) =>
  [...Buffer.from(character)].map((byte) => `%${byte.toString(16).padStart(2, '0')}`).join('')
const NOT_DECODABLE = ['%', '%2', '%zz', '%C3%28', '%ED%A0%80', '%FF', '%u0041', '%C0%AF', '%F5%80%80%80']
/** Signs as the request line has them, raw or encoded, or such that cannot be decoded. */
const signs = fc.oneof(
  fc.constantFrom('/', '//', '.', '..', '/../', '/./', ';', ':', '@', '~', '!', '\\', '|', '[', ']'),
  fc.constantFrom('%2F', '%2f', '%2E%2E', '%5C', '%00', '%0d%0a', '%20', '+', '%25', '%2525', '%3F', '%23'),
  fc.constantFrom(...NOT_DECODABLE, ...PROTOTYPE_NAMES),
  anyCharacter,
  anyCharacter.map((character) => percent(character.toWellFormed())),
  fc.integer({ min: 100, max: 20_000 }).map((length) => 'x'.repeat(length)),
)

const edited = (text: string, where: number, removed: number, put: string): string => {
  const at = where % (text.length + 1)
  return text.slice(0, at) + put + text.slice(at + removed)
}
/** The text with some of its characters removed, replaced or encoded. */
export const nearly = (text: fc.Arbitrary<string>): fc.Arbitrary<string> =>
  fc.oneof(
    fc.tuple(text, fc.nat(), fc.integer({ min: 0, max: 2 }), signs).map((edit) => edited(...edit)),
    fc.tuple(text, fc.nat(), fc.integer({ min: 1, max: 3 })).map(([...edit]) => edited(...edit, '')),
    fc
      .tuple(text, fc.nat())
      .map(([text, where]) =>
        edited(text, where, 1, percent(text.charAt(where % (text.length + 1)).toWellFormed())),
      ),
  )

/** Paths of the routes with these ids, and what is nearly one. */
export const pathOf = (ids: readonly string[]): fc.Arbitrary<string> => {
  const segment = fc.oneof(
    { weight: 3, arbitrary: fc.constantFrom(...ids) },
    { weight: 3, arbitrary: nearly(fc.constantFrom(...ids)) },
    { weight: 1, arbitrary: signs },
    { weight: 1, arbitrary: anyText.filter((text) => !/[/?#]/.test(text)) },
  )
  const path = fc.oneof(
    fc.constantFrom('/v0/page_groups', '/healthz', '/readyz', '/openapi.json', '/', ''),
    fc.constantFrom(
      '/v0/prospect_logs',
      '/v0/prospect_logs/batch',
      '/v0/prospects',
      '/v0/prospects/batch',
      '/v0/erasures',
    ),
    fc
      .tuple(fc.constantFrom('prospect_logs', 'prospects', 'erasures'), segment)
      .map(([resource, id]) => `/v0/${resource}/${id}`),
    fc
      .tuple(segment, fc.constantFrom('prospect_logs', 'export', 'merge'))
      .map(([id, what]) => `/v0/prospects/${id}/${what}`),
    segment.map((id) => `/v0/page_groups/${id}/pages`),
    segment.map((id) => `/v0/page_groups/${id}`),
    fc.tuple(segment, segment).map(([group, page]) => `/v0/page_groups/${group}/pages/${page}`),
    fc
      .tuple(segment, segment, fc.constantFrom('versions', 'unpublish'))
      .map(([group, page, part]) => `/v0/page_groups/${group}/pages/${page}/${part}`),
    fc
      .tuple(segment, segment, segment, fc.constantFrom('', '/publish'))
      .map(
        ([group, page, version, part]) => `/v0/page_groups/${group}/pages/${page}/versions/${version}${part}`,
      ),
    fc.constantFrom('/v0/events', '/v0/webhook_endpoints'),
    segment.map((id) => `/v0/events/${id}`),
    fc
      .tuple(segment, fc.constantFrom('', '/test', '/rotate_secret', '/replay', '/deliveries'))
      .map(([endpoint, part]) => `/v0/webhook_endpoints/${endpoint}${part}`),
    fc
      .tuple(segment, segment, fc.constantFrom('', '/retry'))
      .map(([endpoint, event, end]) => `/v0/webhook_endpoints/${endpoint}/deliveries/${event}${end}`),
    fc.oneof(segment, fc.constantFrom('invalid_json')).map((code) => `/problems/${code}`),
  )
  return fc.oneof({ weight: 3, arbitrary: path }, { weight: 1, arbitrary: nearly(path) })
}

/** Text that may precede or follow a path. */
export const targetOf = (path: fc.Arbitrary<string>): fc.Arbitrary<string> =>
  fc
    .tuple(
      fc.oneof(
        { weight: 8, arbitrary: fc.constant('') },
        {
          weight: 1,
          arbitrary: fc.constantFrom('http://localhost', 'https://a:b@[::1]:8080', 'HTTP://x', '*', 'x'),
        },
      ),
      path,
      fc.oneof(
        { weight: 4, arbitrary: fc.constant('') },
        { weight: 1, arbitrary: fc.constantFrom('?', '?x=1', '#', '#?limit=0', '??', '?a/b', '?&&==') },
      ),
    )
    .map((parts) => parts.join(''))

const name = fc.oneof(
  { weight: 12, arbitrary: fc.constantFrom('limit', 'status', 'cursor') },
  { weight: 1, arbitrary: fc.constantFrom('Limit', 'other', '', ...PROTOTYPE_NAMES) },
)
const LIMITS = [
  '1',
  '20',
  '100',
  '007',
  '0',
  '101',
  '-1',
  '+5',
  '1e1',
  '1.0',
  '0x5',
  '',
  ' 5',
  '5 ',
  '٥',
  '１',
]
const STATUSES = ['active', 'archived', 'deleted', 'Active', 'all', '', 'active,archived', 'active ']
const value = fc.oneof(
  { weight: 4, arbitrary: fc.constantFrom(...LIMITS) },
  { weight: 2, arbitrary: fc.constantFrom(...STATUSES) },
  { weight: 1, arbitrary: signs },
  { weight: 1, arbitrary: fc.integer({ min: 1, max: 400 }).map((length) => '9'.repeat(length)) },
)
const asSent = fc.oneof(
  { weight: 4, arbitrary: fc.constant((text: string) => text) },
  { weight: 1, arbitrary: fc.constant((text: string) => percent(text.toWellFormed())) },
  { weight: 1, arbitrary: fc.constant((text: string) => text.replaceAll(' ', '+')) },
)
const pair = fc.oneof(
  {
    weight: 8,
    arbitrary: fc
      .tuple(name, asSent, value, asSent)
      .map(([name, asName, value, asValue]) => `${asName(name)}=${asValue(value)}`),
  },
  { weight: 1, arbitrary: fc.constantFrom('', '=', '==', 'limit', 'limit=5=5', '%=1', 'cursor', '=limit') },
  { weight: 1, arbitrary: signs },
)
export const query = fc.array(pair, { maxLength: 4 }).map((pairs) => pairs.join('&'))
