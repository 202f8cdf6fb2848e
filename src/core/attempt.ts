import { DomainFailure, type Outcome } from './failures.ts'

/** What came of deciding one member of a list: its answer, or its no. A bug still throws. */
export const attempt = <Answer>(decideOne: () => Answer): Outcome<Answer> => {
  try {
    return decideOne()
  } catch (no) {
    if (no instanceof DomainFailure) return no
    throw no
  }
}
