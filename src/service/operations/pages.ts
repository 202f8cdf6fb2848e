import { createPageWithVersion } from '../../core/pages/create-page-with-version.ts'
import { deletePage } from '../../core/pages/delete-page.ts'
import { getPage } from '../../core/pages/get-page.ts'
import { listPages } from '../../core/pages/list-pages.ts'
import { listPublishedPages } from '../../core/pages/list-published-pages.ts'
import { unpublishPage } from '../../core/pages/unpublish-page.ts'
import { updatePage } from '../../core/pages/update-page.ts'
import { abortable, forReaders, idempotent, ifRevision } from '../../shapes/input.ts'
import {
  CreatedPage,
  NewPage,
  PageChanges,
  PageQuery,
  PageSlice,
  PageWithVersion,
  PublishedPageSlice,
  PublishedPagesQuery,
} from '../../shapes/page.ts'
import { SliceQuery } from '../../shapes/slice.ts'
import * as example from './examples.ts'
import { get, ONE_BODY, patch, post, remove } from './operation.ts'

export const pageOperations = {
  /** Lists the pages of a group, newest first. */
  listPages: get(
    '/v0/page_groups/{page_group_id}/pages',
    {
      summary: 'List the pages of a page group, newest first',
      scope: 'pages:read',
      needs: ['pages', 'pageGroups'],
      useCase: listPages,
      query: SliceQuery,
      takes: forReaders,
      answer: PageSlice,
      answerBytesMax: ONE_BODY,
    },
    {
      description:
        'Returns the pages of a group, one slice at a time. A key with `pages:published` gets those that have a published version; it may get fewer than `limit` while `hasMore` is true.',
      done: 'A slice of pages.',
      answers: {
        first: {
          summary: 'The first of several slices',
          value: {
            items: [{ ...example.page, updatedAt: example.PUBLISHED_AT, ...example.names }],
            hasMore: true,
            nextCursor: example.CURSOR,
          },
        },
      },
    },
  ),
  /** Creates a page whose first version waits for a publisher, which publishes it unless `publish` is false. */
  createPageWithVersion: post(
    '/v0/page_groups/{page_group_id}/pages',
    {
      summary: 'Create a page and its first version',
      scope: 'pages:write',
      needs: ['pages'],
      useCase: createPageWithVersion,
      body: NewPage,
      takes: idempotent,
      answer: CreatedPage,
      status: 201,
      problems: ['page_group_not_active', 'slug_taken'],
      bodyOptional: true,
    },
    {
      description:
        'Creates a page and its first version, which is named in the background and then published, or at `publishAt`; with `publish` false it stays `ready` until a person publishes it. Read the page to see when it is published.',
      done: 'The page was stored. A retry with the same idempotency key returns the same answer.',
      requests: {
        about: {
          summary: 'With a context',
          value: { supplementaryContext: 'A page about the spring sale' },
        },
        named: {
          summary: 'With a custom name and a slug',
          value: { customName: 'Spring sale', slug: 'spring-sale' },
        },
        content: { summary: 'With content', value: { customName: 'Spring sale', content: example.CONTENT } },
        later: { summary: 'To be published later', value: { publishAt: example.PUBLISH_AT } },
        draft: {
          summary: 'A draft, to be published by hand',
          value: { content: example.CONTENT, publish: false },
        },
        empty: { summary: 'Empty; the same as no body', value: {} },
      },
      answers: { created: { summary: 'Created', value: { ...example.page, status: 'processing' } } },
      fault: { detail: 'must be a string', pointer: '/customName' },
      firstCreated: { pageId: example.PAGE_ID },
    },
  ),
  /** Reads a page with its published version, which is null until a publisher has published one. */
  getPage: get(
    '/v0/page_groups/{page_group_id}/pages/{page_id}',
    {
      summary: 'Read a page with its published version',
      scope: 'pages:read',
      needs: ['pages'],
      useCase: getPage,
      query: PageQuery,
      takes: { ...abortable, ...forReaders },
      answer: PageWithVersion,
    },
    {
      description:
        'Returns a page with its published version. A page with a slug is also found as `slug:` and its slug, such as `slug:spring-sale`. `publishedVersion` is null until a version is published; `latestVersion` shows the progress. With `wait`, the answer comes once `latestVersion` is no longer `processing`, or at the end of that time; at most 100 requests of a tenant wait at a time. A key with `pages:published` finds only pages that have a published version, in active groups.',
      done: 'The page.',
      answers: {
        published: {
          summary: 'Published',
          value: example.published,
        },
        with_content: {
          summary: 'Published, with content',
          value: {
            ...example.published,
            publishedVersion: { ...example.published.publishedVersion, content: example.CONTENT },
          },
        },
        processing: {
          summary: 'Not published yet',
          value: {
            ...example.page,
            ...example.names,
            supplementaryContext: 'A page about the spring sale',
            publishedVersion: null,
            latestVersion: { ...example.version, status: 'processing', failureReason: null, publishAt: null },
            unpublishAt: null,
          },
        },
      },
    },
  ),
  /** Lists what readers see: pages with a published version in active groups, those published last first. */
  listPublishedPages: get(
    '/v0/published_pages',
    {
      summary: 'List the published pages of all groups, those published last first',
      scope: 'pages:read',
      needs: ['pages', 'pages.listPublished'],
      useCase: listPublishedPages,
      query: PublishedPagesQuery,
      takes: forReaders,
      answer: PublishedPageSlice,
      answerBytesMax: ONE_BODY,
    },
    {
      description:
        'Returns what readers see, with its content, one slice at a time: the pages of all active groups that have a published version. A slice may hold fewer than `limit` while `hasMore` is true. A page that is published again while you read the list moves to its beginning: then list once more with `publishedAfter`. Pages that were unpublished or deleted are missing; the events say which.',
      done: 'A slice of published pages.',
      answers: {
        first: {
          summary: 'The only slice',
          value: {
            items: [
              {
                ...example.page,
                effectiveName: example.names.effectiveName,
                slug: example.names.slug,
                publishedVersion: { ...example.published.publishedVersion, content: example.CONTENT },
              },
            ],
            hasMore: false,
          },
        },
      },
    },
  ),
  /** Renames a page, or sets its slug or when it is unpublished; null removes its custom name, its slug or that time. */
  updatePage: patch(
    '/v0/page_groups/{page_group_id}/pages/{page_id}',
    {
      summary: 'Rename a page, or set its slug or when it is unpublished',
      scope: 'pages:write',
      needs: ['pages', 'pages.change', 'schedules'],
      useCase: updatePage,
      body: PageChanges,
      takes: ifRevision,
      answer: PageWithVersion,
      problems: ['slug_taken'],
    },
    {
      description:
        'Replaces the custom name or the slug of a page, or removes them, or sets when the page is unpublished. Publishing a version before that, by hand or by schedule, clears the time.',
      done: 'The page as it is now.',
      requests: {
        named: { summary: 'Rename', value: { customName: 'Spring sale' } },
        slug: { summary: 'Set the slug', value: { slug: 'spring-sale' } },
        removed: { summary: 'Remove the custom name', value: { customName: null } },
        until: { summary: 'Unpublish it later', value: { unpublishAt: example.UNPUBLISH_AT } },
      },
      answers: {
        renamed: {
          summary: 'Renamed',
          value: { ...example.published, effectiveName: 'Spring sale', customName: 'Spring sale' },
        },
      },
      fault: { detail: 'must be a string', pointer: '/customName' },
    },
  ),
  /** Deletes a page with its versions. */
  deletePage: remove(
    '/v0/page_groups/{page_group_id}/pages/{page_id}',
    {
      summary: 'Delete a page with its versions',
      scope: 'pages:write',
      needs: ['pages'],
      useCase: deletePage,
      takes: ifRevision,
    },
    {
      description: 'Deletes a page with all its versions, published or not.',
      done: 'The page is deleted.',
    },
  ),
  /** Withdraws the published version. */
  unpublishPage: post(
    '/v0/page_groups/{page_group_id}/pages/{page_id}/unpublish',
    {
      summary: 'Withdraw the published version of a page',
      scope: 'pages:write',
      needs: ['pages', 'pages.change', 'schedules'],
      useCase: unpublishPage,
      takes: ifRevision,
      answer: PageWithVersion,
    },
    {
      description:
        'Withdraws the published version: readers see nothing until one is published again. Versions that were requested before this call are no longer published automatically.',
      done: 'The page as it is now.',
      answers: {
        unpublished: { summary: 'Unpublished', value: { ...example.published, publishedVersion: null } },
      },
    },
  ),
}
