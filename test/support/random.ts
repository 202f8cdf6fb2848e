export * from '../store-contract/random.ts'
