-- The number that a page had in its group when it was created, for the name of a version without a context. Null for older pages.
alter table pages add column page_number integer;
