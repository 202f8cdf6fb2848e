import { DomainFailure } from '../../core/engine/failures.ts'

/** A message that breaks the rules of HTTP, or that ends early. */
export const malformed = (detail: string) => new DomainFailure('invalid_request', detail)
