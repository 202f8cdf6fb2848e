import t from 'tap'
import { camelCase, snakeCase } from '../../src/json/case.ts'

t.test('a name in any case becomes camel case, and a name in camel case snake case', async (t) => {
  for (const name of ['page_group_id', 'PageGroupId', 'page-group-id', 'pageGroupId'])
    t.equal(camelCase(name), 'pageGroupId')
  t.equal(snakeCase('pageGroupId'), 'page_group_id')
  t.equal(snakeCase(camelCase('name')), 'name')
})
