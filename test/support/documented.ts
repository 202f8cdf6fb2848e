import assert from 'node:assert/strict'
import openapi from '../../src/adapters/http/openapi.json' with { type: 'json' }
import { type Api, type ApiRequest, type ApiResponse, isWhole } from '../../src/adapters/http/requests.ts'
import { faultOf } from './answers.ts'

type Operation = Pick<ApiRequest, 'method' | 'target'>

/** The API, but a response that differs from the OpenAPI document is an error. */
export const documented =
  (api: Api): Api =>
  async (request) => {
    const response = await api(request)
    if (isWhole(response.body)) {
      mustBeDocumented(request, response)
      return response
    }
    const { parts, cancel } = response.body
    return { ...response, body: { parts: documentedParts(request, response, parts), cancel } }
  }

/** The same parts. Once the last one is read, they are compared with the document. */
async function* documentedParts(
  request: Operation,
  response: ApiResponse,
  parts: AsyncIterable<string>,
): AsyncGenerator<string> {
  let body = ''
  for await (const part of parts) {
    body += part
    yield part
  }
  mustBeDocumented(request, { ...response, body })
}

/** Compares the response of an operation with the document, which leaves out other paths and methods. */
export const mustBeDocumented = ({ method, target }: Operation, response: ApiResponse): void => {
  const template = templateOf(target)
  if (template === undefined) return
  // Methods are in capitals: `get` is another method, which no path has.
  const methods = Object.keys(openapi.paths[template]).map((name) => name.toUpperCase())
  if (!methods.includes(method)) return
  const body = String(response.body)
  assert.equal(faultOf(method, template, { ...response, body }), null)
}

type Template = keyof typeof openapi.paths

/** The path in the document that a target belongs to, if any: the same path before one with parameters. */
const templateOf = (target: string): Template | undefined => {
  const [path = ''] = target.replace(/^http:\/\/[^/]*/, '').split(/[?#]/)
  const templates = Object.keys(openapi.paths) as Template[]
  return (
    templates.find((template) => template === path) ?? templates.find((template) => matches(path, template))
  )
}

const matches = (path: string, template: string): boolean => {
  const segments = path.split('/')
  const templateSegments = template.split('/')
  if (segments.length !== templateSegments.length) return false
  return templateSegments.every((templateSegment, index) => {
    const isParameter = templateSegment.startsWith('{')
    return isParameter ? segments[index] !== '' : segments[index] === templateSegment
  })
}
