/** A store that keeps nothing beyond the process: for tests, and to try things. */
export { type MemoryStore, memoryStore } from '../adapters/memory/store.ts'
