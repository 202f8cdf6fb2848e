/** The tests of what every store must do, for those who write one. */
import * as core from '#use-cases'
import type { StoreContractOptions } from './contract.ts'
import { sections } from './sections.ts'

export type { Kept, OpenedStore, StoreContractOptions, TestRunner } from './contract.ts'

/**
 * Registers the tests of the store contract with your test runner, at once. Each test opens a store of its own, and its
 * title says what a store must do. The races take seconds on a database: allow a test half a minute.
 */
export const storeContract = (options: StoreContractOptions): void => {
  if (typeof options?.test !== 'function' || typeof options.openStore !== 'function')
    throw new TypeError('storeContract needs test, such as that of node:test, and openStore.')
  for (const section of sections) section(core, options)
}
