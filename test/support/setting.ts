export * from '../store-contract/setting.ts'
