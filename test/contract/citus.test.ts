import { testContractOn } from '../support/contract.ts'

testContractOn('citus')
