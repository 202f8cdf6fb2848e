import { readFileSync } from 'node:fs'
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js'
import formats from 'ajv-formats'

type Response = {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}
type Documented = {
  readonly headers?: Record<string, unknown>
  readonly content?: Record<string, { readonly schema: object }>
}

const document = JSON.parse(
  readFileSync(new URL('../../src/adapters/http/openapi.json', import.meta.url), 'utf8'),
)
// Whether the schemas are valid is tested once: to look takes longer than most files.
const ajv = new Ajv2020({ strict: false, allErrors: true, validateSchema: false })
formats.default(ajv)
ajv.addSchema(document, 'openapi')
const compiled = new Map<string, ValidateFunction>()

/** How an answer differs from the committed OpenAPI document; null if it does not. */
export const faultOf = (
  method: string,
  template: string,
  { status, headers, body }: Response,
): string | null => {
  const responses = document.paths[template]?.[method.toLowerCase()]?.responses
  const { $ref = null } = responses?.[status] ?? {}
  const documented: Documented | undefined = $ref
    ? document.components.responses[$ref.split('/').at(-1)]
    : responses?.[status]
  if (documented === undefined) return `${method} ${template} is not documented to answer ${status}`
  const type = headers['content-type'] ?? ''
  if (documented.content === undefined && body === '' && type === '') return null
  if (documented.content?.[type] === undefined)
    return `${status} of ${method} ${template} is not documented as ${type}`
  for (const name of ['X-Request-Id', ...(status === 401 ? ['WWW-Authenticate'] : [])])
    if (headers[name.toLowerCase()] === undefined) return `${status} of ${method} ${template} lacks ${name}`
  const escaped = (part: string) => part.replaceAll('~', '~0').replaceAll('/', '~1')
  const place =
    $ref ??
    `#/${['paths', template, method.toLowerCase(), 'responses', String(status)].map(escaped).join('/')}`
  if (type === 'application/x-ndjson') {
    const faults = body
      .split(/(?<=\n)/)
      .map((line) => faultOfValue('#/components/schemas/ProspectExportLine', JSON.parse(line)))
    return faults.find((fault) => fault !== null) ?? null
  }
  return faultOfValue(`${place}/content/${escaped(type)}/schema`, JSON.parse(body))
}

/** How a value differs from the schema at a pointer into that document; null if it does not. */
export const faultOfValue = (pointer: string, value: unknown): string | null => {
  const reference = `openapi${pointer.split('/').map(encodeInReference).join('/')}`
  const validate = compiled.get(reference) ?? ajv.compile({ $ref: reference })
  compiled.set(reference, validate)
  return validate(value) ? null : ajv.errorsText(validate.errors)
}

const encodeInReference = (part: string): string => (part === '#' ? part : encodeURIComponent(part))
