import { refuse } from '../core/engine/failures.ts'
import { asOutcome } from '../core/engine/outcome.ts'
import type { Batch } from '../core/engine/run-in-waves.ts'
import { inTenant } from '../shapes/input.ts'
import { createCheckInput } from './check-input.ts'
import type { Operation } from './operations/operation.ts'
import type { RequireTenant } from './remember-tenants.ts'

type OfTenant = { readonly tenantId: string }
type UseCase = (input: OfTenant) => Promise<unknown>
type BatchUseCase = (batch: Batch<unknown, OfTenant>) => Promise<readonly unknown[]>

/** An operation as a function of an unchecked input. */
export const callOf = (operation: Operation, useCase: UseCase, requireTenant: RequireTenant) => {
  const prepare = prepareOf(operation, requireTenant)
  return async (input: unknown) => useCase(await prepare(input))
}

/** An operation that takes a batch, as a function of a list of unchecked inputs. */
export const batchCallOf = (operation: Operation, useCase: BatchUseCase, requireTenant: RequireTenant) => {
  const prepare = prepareOf(operation, requireTenant)
  return async (inputs: readonly unknown[]) => {
    if (!Array.isArray(inputs)) refuse('invalid_request', 'Pass an array.')
    const answers = await useCase({ inputs, prepare })
    return answers.map((answer) => (answer instanceof Error ? asOutcome(answer) : answer))
  }
}

/** Checks an input, and that its tenant exists. */
const prepareOf = ({ ids, query, body, takes, item }: Operation, requireTenant: RequireTenant) => {
  const entries = { ...ids, ...query?.entries, ...(item ?? body)?.entries, ...takes }
  const checkInput = createCheckInput<OfTenant>(inTenant(entries, item ?? body))
  return async (input: unknown): Promise<OfTenant> => {
    const checked = checkInput(input)
    await requireTenant(checked.tenantId)
    return checked
  }
}
