import { refuse } from '../../core/engine/failures.ts'
import { html, pageFor, pageOrJson } from './html.ts'
import { PROBLEMS } from './problems.ts'
import { rawRoute } from './raw-route.ts'

/** The page that the `type` of a problem document links. */
export const problemRoute = rawRoute('/problems/{code}', async (request, { code }) => {
  const problem = explanationOf(code, request.basePath)
  return pageOrJson(request, () => pageOf(problem), problem)
})

const explanationOf = (code = '', basePath = '') => {
  if (!Object.hasOwn(PROBLEMS, code)) return refuse('not_found', 'Unknown problem code.')
  const { status, title, explanation } = PROBLEMS[code as keyof typeof PROBLEMS]
  return { type: `${basePath}/problems/${code}`, code, title, status, explanation }
}

const pageOf = ({ code, title, status, explanation }: ReturnType<typeof explanationOf>) =>
  pageFor(title, html`<p>${explanation}</p><p>Code <code>${code}</code>, status ${String(status)}.</p>`)
