import { DomainFailure } from './failures.ts'

/** A list of 200 costs little more than a list of one; a longer one keeps its callers waiting. */
export const LIST_LENGTH_MAX = 200

/**
 * Runs inputs in order, a chunk at a time: the next one starts once all of it are settled, so that others get their
 * turns in between. After `unavailable` the rest is not tried, and fails alike. `beforeChunk` gets the length of each.
 */
export const inOrder = async <Input, Answer>(
  inputs: readonly Input[],
  run: (input: Input) => Promise<Answer>,
  beforeChunk: (length: number) => Promise<void> | undefined = () => undefined,
): Promise<readonly PromiseSettledResult<Answer>[]> => {
  const settled: PromiseSettledResult<Answer>[] = []
  const runChunk = async (chunk: readonly Input[]) => {
    await beforeChunk(chunk.length)
    return Promise.allSettled(chunk.map(run))
  }
  while (settled.length < inputs.length) {
    const chunk = inputs.slice(settled.length, settled.length + LIST_LENGTH_MAX)
    const away = settled.findLast(isUnavailable)
    if (away !== undefined) settled.push(...chunk.map(() => away))
    else settled.push(...(await runChunk(chunk).catch((reason) => chunk.map(() => rejected(reason)))))
  }
  return settled
}

const rejected = (reason: unknown) => ({ status: 'rejected', reason }) as const

const isUnavailable = (settled: PromiseSettledResult<unknown>): settled is PromiseRejectedResult =>
  settled.status === 'rejected' &&
  settled.reason instanceof DomainFailure &&
  settled.reason.kind === 'unavailable'
