import { DomainFailure, type Fault } from '../core/failures.ts'
import { WRONG_USE } from './command.ts'
import { harmless, inPairs, wrapped } from './layout.ts'
import type { Screen } from './screen.ts'

/** What to do about a refusal, where it can be said. */
const WHAT_TO_DO: Readonly<Record<string, string>> = {
  unavailable: 'See that the database of DATABASE_URL is there and takes connections, and try again.',
  page_group_not_found: 'GET /v0/page_groups lists the page groups of the tenant whose key is sent.',
}

export type Refused = { readonly exitCode: 1 | 2; readonly text: string }

/**
 * What is said on stderr of an error, and the exit code: 2 for wrong use, 1 for all else. A refusal is one JSON object on
 * a pipe, and sentences on a terminal.
 */
export const refused = (error: unknown, screen: Screen, asJson: boolean): Refused => {
  if (error instanceof Error && error.cause === WRONG_USE)
    return {
      exitCode: 2,
      text: `${screen.paint('red', 'prospect-pages:')} ${harmlessLines(error.message)}\n`,
    }
  const refusal = refusalOf(error)
  return { exitCode: 1, text: asJson ? `${JSON.stringify(refusal)}\n` : inSentences(refusal, screen) }
}

type Refusal = {
  readonly code: string
  readonly detail: string
  readonly cause?: string
  readonly errors?: readonly Fault[]
  readonly hint?: string
}

const refusalOf = (error: unknown): Refusal => {
  if (!(error instanceof DomainFailure))
    return { code: 'refused', detail: error instanceof Error ? error.message : String(error) }
  const { kind: code, message: detail, cause, facts } = error
  const settings = facts.errors?.some(({ parameter }) => parameter !== undefined)
  const hint = settings ? 'prospect-pages --help tells every setting.' : WHAT_TO_DO[code]
  return {
    code,
    detail,
    ...(cause instanceof Error && { cause: cause.message }),
    ...facts,
    ...(hint !== undefined && { hint }),
  }
}

const inSentences = (
  { code, detail, cause, errors = [], hint }: Refusal,
  { paint, width }: Screen,
): string => {
  const lines = wrapped(`${harmless(detail)} (${code})`, width - 'refused: '.length)
  const faults = errors.map(
    ({ parameter, pointer, detail }) => [parameter ?? pointer ?? '', harmless(detail)] as const,
  )
  const rest = [cause, hint]
    .filter((text) => text !== undefined)
    .flatMap((text) => wrapped(harmless(text), width))
  return [
    `${paint('red', 'refused:')} ${lines.join('\n         ')}\n`,
    inPairs(faults, { width, indent: 2, paintLeft: (text) => paint('cyan', text) }),
    ...rest.map((line) => `${line}\n`),
  ].join('')
}

const harmlessLines = (text: string): string => text.split('\n').map(harmless).join('\n')
