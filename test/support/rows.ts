export * from '../store-contract/rows.ts'
