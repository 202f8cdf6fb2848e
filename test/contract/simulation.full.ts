import { simulation } from '../store-contract/simulation.ts'
import { testContractOn } from '../support/contract.ts'

for (const name of ['sqlite', 'postgres', 'tenant-routed', 'instance'] as const)
  testContractOn(name, [simulation])
