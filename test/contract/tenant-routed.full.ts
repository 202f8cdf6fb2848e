import { testContractOn } from '../support/contract.ts'

testContractOn('tenant-routed')
